// The console of a container (spec 4.3): live, and its log.
import { createReadStream } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ConsolePost } from '../../../api/container/container-exec.ts';
import type { Operation } from '../../../api/operation.ts';
import { ChannelSet, type Channel } from '../../../operations/channels.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ContainerDeps } from '../deps.ts';
import { containerUrl } from '../../../api/project/project-names.ts';
import { requireRunning, sizeOf, waitFor } from './exec.ts';
import { sendOutput, receiveInput, followControlMessages } from './streams.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { isNotThere } from './logs.ts';

type ConsoleDeps = Pick<ContainerDeps, 'records' | 'runtime' | 'operations' | 'events' | 'logsDir'>;

export function openConsole(deps: ConsoleDeps, caller: Caller, name: string, body: ConsolePost): Operation {
  readyContainer(deps.records, name);
  requireRunning(deps, name, 'open its console');
  const channels = new ChannelSet(['0', 'control']);
  const operation = deps.operations.start({
    class: 'websocket',
    description: 'Showing console',
    resources: { containers: [containerUrl(name)] },
    metadata: { fds: channels.secrets },
    endsWithDaemon: true,
    channels,
    run: (_handle, signal) => runConsole(deps, name, body, channels, signal),
  });
  deps.events.lifecycle('container-console', containerUrl(name), caller);
  return operation;
}

/** Waits for a client while the container runs; ends when the client or the container does. */
async function runConsole(
  deps: ConsoleDeps,
  name: string,
  body: ConsolePost,
  channels: ChannelSet,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new AbortController();
  const off = deps.runtime.onExit((exit) => exit.name === name && exit.target === 'stop' && stopped.abort());
  const end = AbortSignal.any([signal, stopped.signal]);
  try {
    const channel = await waitFor(channels.connected('0'), undefined, '', end);
    await show(deps.runtime.console(name, sizeOf(body)), channel, channels, end);
  } catch (error) {
    // A stop of the container is a normal end of its console.
    if (!stopped.signal.aborted) throw error;
  } finally {
    off();
  }
}

async function show(
  view: ReturnType<ConsoleDeps['runtime']['console']>,
  channel: Channel,
  channels: ChannelSet,
  end: AbortSignal,
): Promise<void> {
  const close = (): void => view.close();
  end.addEventListener('abort', close, { once: true });
  const control = async (): Promise<void> => {
    await followControlMessages(await channels.connected('control'), (size) => view.resize(size));
    view.close();
  };
  void control();
  void receiveInput(channel, view.input).finally(close);
  try {
    await sendOutput(view.output, channel);
  } finally {
    end.removeEventListener('abort', close);
    view.close();
  }
}

/** The console output so far, at most some 128 KiB; empty if there is none. */
export async function readConsoleLog(deps: Pick<ConsoleDeps, 'records' | 'logsDir'>, name: string): Promise<Readable> {
  readyContainer(deps.records, name);
  const stream = createReadStream(consoleLog(deps, name));
  return new Promise((resolve, reject) => {
    stream.once('open', () => resolve(stream));
    stream.once('error', (error) => (isNotThere(error) ? resolve(Readable.from([])) : reject(error)));
  });
}

/** A running container keeps writing at the new end. */
export async function clearConsoleLog(deps: Pick<ConsoleDeps, 'records' | 'logsDir'>, name: string): Promise<void> {
  readyContainer(deps.records, name);
  await truncate(consoleLog(deps, name)).catch((error: unknown) => {
    if (!isNotThere(error)) throw error;
  });
}

const consoleLog = (deps: Pick<ConsoleDeps, 'logsDir'>, name: string): string =>
  join(deps.logsDir, name, 'console.log');
