// The context of every command: streams, options, two stages of interruption, and output for people or machines.
import { setMaxListeners } from 'node:events';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { MarkedColor } from '../../core/text/terminal-text.ts';
import type { HostView } from '../../manifest/load-contract.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { colorOf, type ShownIo } from '../output/safe-io.ts';
import type { OutputOptions } from '../flags/output-flags.ts';
import { parseDuration } from '../flags/parse-values.ts';
import { CliError, ExpiredError } from '../errors/usage-error.ts';
import { versionLine } from '../output/render-json.ts';
import { version } from '../../../server/api/version.ts';

/** The host that a part of a command on several hosts works for. */
export interface HostScope {
  /** Id of the rollout, the same for all hosts of the command. */
  readonly rollout?: string;
  readonly view: HostView;
  readonly vars: Readonly<Record<string, string>>;
  /** Read once for all hosts. */
  readonly stdin?: string;
}

/** `O`: what the flags of the command may say, beside those of every command. */
export interface CliContext<O extends object = object> {
  readonly io: ShownIo;
  readonly host?: HostScope;
  readonly options: O & OutputOptions;
  /** First Ctrl-C: start nothing new. Ends commands that only read. */
  readonly stop: AbortSignal;
  /** Second Ctrl-C: cancel running steps. */
  readonly cancel: AbortSignal;
  readonly isJson: boolean;
  /** For text on stdout. */
  readonly color: MarkedColor;
  /** A line of data for people; silent with --json. */
  readonly out: (text: string) => void;
  /** A line of data for machines; silent without --json. The first one is preceded by the version. */
  readonly json: (line: string) => void;
  /** A line of progress on stderr; silent with --json. */
  readonly note: (text: string) => void;
  readonly diagnostics: (found: readonly Diagnostic[]) => Promise<void>;
}

export interface OpenContext<O extends object = object> extends CliContext<O> {
  /** Called at each interruption with a message about what happens next. */
  onInterrupt: (text: string) => void;
  readonly close: () => void;
}

/** The code of a verb. */
export type Run<O extends object = object> = (context: OpenContext<O>, args: readonly string[]) => Promise<ExitCode>;

export function openContext(io: ShownIo, options: OutputOptions): OpenContext {
  const isJson = options.json === true;
  const stop = new AbortController();
  const cancel = new AbortController();
  // Every request and object at work listens.
  setMaxListeners(0, stop.signal, cancel.signal);
  const color = colorOf(io, io.stdout, options.color !== false);
  const note = (text: string): void => void (isJson || io.stderr.write(`${text}\n`));
  let isFirst = true;
  const openedMs = io.nowMs();
  const json = (line: string): void => {
    if (!isJson) return;
    if (isFirst) io.stdout.write(`${versionLine(version, openedMs)}\n`);
    isFirst = false;
    io.stdout.write(`${line}\n`);
  };
  const context: OpenContext = {
    io,
    options,
    stop: stop.signal,
    cancel: cancel.signal,
    isJson,
    color,
    note,
    json,
    out: (text) => void (isJson || io.stdout.write(`${text}\n`)),
    diagnostics: (found) => printDiagnostics(context, found),
    onInterrupt: note,
    close: () => {
      clearTimeout(timer);
      io.lost.removeEventListener('abort', stopWriting);
      unlisten();
    },
  };
  const stopWriting = (): void => stop.abort(io.lost.reason);
  io.lost.addEventListener('abort', stopWriting, { once: true });
  const unlisten = io.onInterrupt(() => {
    if (stop.signal.aborted) {
      context.onInterrupt('Cancelling the steps in progress.');
      cancel.abort(new CliError('Cancelled', exitCodes.interrupted));
    } else {
      context.onInterrupt('Interrupted: finishing the steps in progress. Press Ctrl-C again to cancel them.');
      stop.abort(new CliError('Interrupted', exitCodes.interrupted));
    }
  });
  const limitMs = parseDuration('--timeout', options.timeout);
  const timer = limitMs === undefined ? undefined : setTimeout(() => expire(stop, cancel, options), limitMs);
  return context;
}

function expire(stop: AbortController, cancel: AbortController, options: OutputOptions): void {
  const reason = new ExpiredError(`The run took longer than --timeout ${options.timeout ?? ''}`, exitCodes.error);
  stop.abort(reason);
  cancel.abort(reason);
}

async function printDiagnostics(context: CliContext, found: readonly Diagnostic[]): Promise<void> {
  if (found.length === 0) return;
  if (context.isJson) {
    const { diagnosticLine } = await import('../output/render-json.ts');
    for (const diagnostic of found) context.json(diagnosticLine(diagnostic, context.io.nowMs()));
    return;
  }
  const { renderDiagnostics } = await import('../../core/render/render-diagnostics.ts');
  const color = colorOf(context.io, context.io.stderr, context.options.color !== false);
  context.note(renderDiagnostics(found, { color }).trimEnd());
}
