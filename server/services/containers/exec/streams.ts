// Carries bytes between a command and the channels of its operation, in the frames that clients expect (real system section 15).
import { finished } from 'node:stream/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseControlMessage } from '../../../api/container/container-exec.ts';
import type { RuntimeProcess, TerminalSize } from '../../../drivers/runtime/command.ts';
import type { Channel } from '../../../operations/channels.ts';

/** How long a command may take to end after a hang-up. */
const hangUpGraceMs = 2_000;
const hangUpSignal = 1;

/** The stock client takes such an end for a failure, and leaves without the output that is still on its way. */
const unrunnable = new Set([126, 127]);
/** How long a client may take to close its channels once it has their output. */
const closeGraceMs = 1_000;

/** Three pipes. Resolves with the exit code once all output was sent. */
export async function relayPipes(
  process: RuntimeProcess,
  channels: readonly Channel[],
  control: Promise<Channel>,
): Promise<number> {
  const [input, output, errors] = channels;
  const { isControlled, lost } = followControl(process, control);
  void killWhenUnwatched(process, channels, isControlled);
  void receiveInput(input, process.stdin);
  await Promise.race([lost, Promise.all([sendOutput(process.stdout, output), sendOutput(process.stderr, errors)])]);
  const code = await process.exited;
  if (unrunnable.has(code)) await Promise.race([Promise.all([output?.gone, errors?.gone]), sleep(closeGraceMs)]);
  return code;
}

/** Without a control channel the command ends when its last client is gone. */
async function killWhenUnwatched(
  process: RuntimeProcess,
  channels: readonly Channel[],
  isControlled: () => boolean,
): Promise<void> {
  await Promise.all(channels.map((channel) => channel.gone));
  if (!isControlled()) process.kill();
}

/** One terminal. After its last output waits for the client to close: it may still be receiving. */
export async function relayTerminal(
  process: RuntimeProcess,
  [terminal]: readonly Channel[],
  control: Promise<Channel>,
): Promise<number> {
  const { lost } = followControl(process, control);
  let isOver = false;
  const input = receiveInput(terminal, process.stdin).then((end) => {
    if (end === 'gone' && !isOver) hangUp(process);
    return end;
  });
  await Promise.race([lost, sendOutput(process.stdout, terminal)]);
  isOver = true;
  const code = await process.exited;
  await Promise.race([lost, input]);
  return code;
}

/** A terminal without clients hangs up; a command that ignores it is killed. */
function hangUp(process: RuntimeProcess): void {
  process.signal(hangUpSignal);
  const timer = setTimeout(() => {
    process.kill();
    process.stdout?.destroy();
  }, hangUpGraceMs);
  void process.exited.finally(() => clearTimeout(timer));
}

interface Control {
  /** Whether the channel was ever there. */
  readonly isControlled: () => boolean;
  /** Resolves when the rest of the output had time to leave. */
  readonly lost: Promise<void>;
}

/** Obeys the control channel; its loss, for any reason, kills the command. The kernel notices there that a host vanished: a channel with
 *  output on its way stays open for a quarter of an hour. */
function followControl(process: RuntimeProcess, control: Promise<Channel>): Control {
  let isControlled = false;
  const follow = async (): Promise<void> => {
    const channel = await control;
    isControlled = true;
    await followControlMessages(
      channel,
      (size) => process.resize(size),
      (signal) => process.signal(signal),
    );
    process.kill();
    await sleep(hangUpGraceMs, undefined, { ref: false });
    process.stdout?.destroy();
    process.stderr?.destroy();
  };
  return { isControlled: () => isControlled, lost: follow() };
}

/** Longer messages are no control messages. */
const maxControlBytes = 4096;

/** Carries out control messages until the channel is gone. Ignores unknown ones. */
export async function followControlMessages(
  channel: Channel,
  resize: (size: TerminalSize) => void,
  signal: (number: number) => void = () => {},
): Promise<void> {
  for await (const frame of channel.frames) {
    if (frame.bytes.length > maxControlBytes) continue;
    const message = parseControlMessage(frame.bytes.toString('utf8'));
    if (message?.command === 'window-resize') resize({ columns: message.columns, rows: message.rows });
    if (message?.command === 'signal') signal(message.signal);
  }
}

/** Forwards data frames until the first text frame or the end; then closes the input. */
export async function receiveInput(
  channel: Channel | undefined,
  input: Writable | undefined,
): Promise<'barrier' | 'gone'> {
  let end: 'barrier' | 'gone' = 'gone';
  for await (const frame of channel?.frames ?? []) {
    if (frame.kind === 'text') {
      end = 'barrier';
      break;
    }
    if (input !== undefined && !input.destroyed) await write(input, frame.bytes);
  }
  input?.end();
  return end;
}

/** Resolves when there is room for more, or the reader is gone. */
function write(input: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (input.write(bytes, () => resolve())) resolve();
  });
}

/** Sends the whole stream, then the barrier. The command waits while the client does not read. */
export async function sendOutput(stream: Readable | undefined, channel: Channel | undefined): Promise<void> {
  if (stream === undefined || channel === undefined) return;
  // The client is gone: the command's next write fails.
  void channel.gone.finally(() => stream.destroy());
  stream.on('data', (chunk: Buffer) => {
    const room = channel.send(chunk);
    if (room === undefined) return;
    stream.pause();
    void room.finally(() => stream.resume());
  });
  await finished(stream).catch(() => {});
  await channel.barrier();
}
