// The context of every command: streams, options, two stages of interruption, and output as text or JSON.
import { setMaxListeners } from 'node:events';
import type { Writable } from 'node:stream';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { MarkedColor } from '../../core/text/terminal-text.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { HostView } from '../../manifest/load-contract.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { colorOf, type ShownIo } from '../output/safe-io.ts';
import type { OutputOptions } from '../flags/output-flags.ts';
import { parseDuration } from '../flags/parse-values.ts';
import { CliError, ExpiredError } from '../errors/usage-error.ts';
import { versionLine } from '../output/render-json.ts';
import { version } from '../../../server/api/version.ts';
import { longestTimerMs } from '../../../server/lib/shared/deadline.ts';
import type { OptionsOf, Verb } from '../flags/verb.ts';

/** The host of one part of a command on several hosts. */
export interface HostScope {
  /** Id of the rollout, the same for all hosts of the command. */
  readonly rollout?: string;
  readonly view: HostView;
  readonly vars: Readonly<Record<string, string>>;
  /** Read once for all hosts. */
  readonly stdin?: string;
}

/** What a command prints, for people or programs. */
export interface Output {
  readonly io: ShownIo;
  readonly isJson: boolean;
  /** For text on stdout. */
  readonly color: MarkedColor;
  /** A line of data for people; silent with --json. */
  readonly out: (text: string) => void;
  /** A line of data for machines; silent without --json. The first one is preceded by the version. */
  readonly json: (line: string) => void;
  /** An object, or a line for each of several, without the version: for data that is JSON as it is. Silent without --json. */
  readonly jsonObjects: (objects: object | readonly object[]) => void;
  /** A line of progress on stderr; silent with --json. */
  readonly note: (text: string) => void;
  readonly diagnostics: (found: readonly Diagnostic[]) => Promise<void>;
}

/** The two stages of Ctrl-C. */
export interface Interrupts {
  /** First Ctrl-C: start nothing new. Ends commands that only read. */
  readonly stop: AbortSignal;
  /** Second Ctrl-C: cancel running steps. */
  readonly cancel: AbortSignal;
  /** Sends what interruptions announce to `say`, or nowhere, for code that takes over the terminal. Its result undoes that. */
  readonly takeAnnouncements: (say?: (text: string) => void) => () => void;
}

/** A running command: it prints, and can be interrupted. */
export interface Command extends Output, Interrupts {}

/** `O`: the options of this command, beside those of every command. */
export interface Context<O extends object = object> extends Command {
  readonly options: O & OutputOptions;
  readonly host?: HostScope;
}

/** The hosts that --hosts and its selectors choose. */
export interface Fleet {
  /** Never empty. */
  readonly chosen: readonly Host[];
  readonly all: readonly Host[];
}

/**
 * The code of a verb, which succeeds unless it returns another exit code. `fleet`: the hosts of --hosts, for verbs that work on several;
 * undefined without the flag.
 */
export type Run<O extends object = object, Code = ExitCode | void> = (
  context: Context<O>,
  args: readonly string[],
  fleet?: Fleet,
) => Promise<Code>;

/** The code of this verb. */
export type RunOf<V extends Verb> = Run<OptionsOf<V>>;

export interface OpenedContext {
  readonly context: Context;
  readonly close: () => void;
}

export function openContext(io: ShownIo, options: OutputOptions): OpenedContext {
  const output = openOutput(io, options);
  const stop = new AbortController();
  const cancel = new AbortController();
  // Each open event stream, question and wait adds a listener; Node warns from the eleventh on.
  setMaxListeners(0, stop.signal, cancel.signal);
  let announce = output.note;
  const stopWriting = (): void => stop.abort(io.lost.reason);
  io.lost.addEventListener('abort', stopWriting, { once: true });
  const unlisten = io.onInterrupt(() => {
    if (stop.signal.aborted) {
      announce('Cancelling what is in progress.');
      cancel.abort(new CliError('Cancelled', exitCodes.interrupted));
    } else {
      announce('Interrupted: finishing what is in progress. Press Ctrl-C again to cancel it.');
      stop.abort(new CliError('Interrupted', exitCodes.interrupted));
    }
  });
  const limitMs = parseDuration('--timeout', options.timeout);
  const timer =
    limitMs === undefined
      ? undefined
      : setTimeout(() => expire(stop, cancel, options), Math.min(limitMs, longestTimerMs));
  return {
    context: {
      ...output,
      options,
      stop: stop.signal,
      cancel: cancel.signal,
      takeAnnouncements: (say = () => {}) => {
        const before = announce;
        announce = say;
        return () => {
          announce = before;
        };
      },
    },
    close: () => {
      clearTimeout(timer);
      io.lost.removeEventListener('abort', stopWriting);
      unlisten();
    },
  };
}

function openOutput(io: ShownIo, options: OutputOptions): Output {
  const isJson = options.json === true;
  const note = (text: string): void => void (isJson || io.stderr.write(`${text}\n`));
  let isFirst = true;
  const openedMs = io.nowMs();
  const json = (line: string): void => {
    if (!isJson) return;
    if (isFirst) io.stdout.write(`${versionLine(version, openedMs)}\n`);
    isFirst = false;
    io.stdout.write(`${line}\n`);
  };
  const jsonObjects = jsonLinesTo(io.stdout, isJson);
  const diagnostics = async (found: readonly Diagnostic[]): Promise<void> => {
    if (found.length === 0) return;
    if (isJson) {
      const { diagnosticLine } = await import('../output/render-json.ts');
      for (const diagnostic of found) json(diagnosticLine(diagnostic, io.nowMs()));
      return;
    }
    const { renderDiagnostics } = await import('../../core/render/render-diagnostics.ts');
    note(renderDiagnostics(found, { color: colorOf(io, io.stderr, options.color !== false) }).trimEnd());
  };
  const color = colorOf(io, io.stdout, options.color !== false);
  const out = (text: string): void => void (isJson || io.stdout.write(`${text}\n`));
  return { io, isJson, color, note, json, jsonObjects, out, diagnostics };
}

export const jsonLinesTo =
  (stdout: Pick<Writable, 'write'>, isJson: boolean): Output['jsonObjects'] =>
  (objects) => {
    if (isJson) for (const object of [objects].flat()) stdout.write(`${JSON.stringify(object)}\n`);
  };

function expire(stop: AbortController, cancel: AbortController, options: OutputOptions): void {
  const reason = new ExpiredError(`The run took longer than --timeout ${options.timeout ?? ''}`, exitCodes.error);
  stop.abort(reason);
  cancel.abort(reason);
}
