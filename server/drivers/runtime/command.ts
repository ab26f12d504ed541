// The contract of commands and consoles in running containers, as every runtime has them.
import type { Readable, Writable } from 'node:stream';

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A command's standard streams: none, a pipe each, or one terminal for all three. */
export type RuntimeStdio =
  | { readonly kind: 'null' }
  | { readonly kind: 'pipes' }
  | { readonly kind: 'terminal'; readonly size: TerminalSize };

export interface RuntimeCommand {
  readonly argv: readonly string[];
  /** Overrides the usual PATH, HOME, USER and LANG; the host's environment is not passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default /root. The command starts in / if it cannot enter this one. */
  readonly cwd?: string;
  /** Ids inside the container; default 0. */
  readonly uid?: number;
  readonly gid?: number;
  readonly stdio: RuntimeStdio;
}

/** A running command. Its owner reads its outputs to their end, or destroys them: an unread one blocks the command. */
export interface RuntimeProcess {
  /** Standard input, or the terminal's. Absent with stdio null, like the outputs. */
  readonly stdin?: Writable;
  /** Standard output, or the terminal's. Ends soon after the command, even if a leftover process keeps it open. */
  readonly stdout?: Readable;
  readonly stderr?: Readable;
  /** Does nothing without a terminal, or after the end. */
  resize(size: TerminalSize): void;
  /** Sends the signal with this number to the command itself. Does nothing after the end. */
  signal(number: number): void;
  /** Kills the command and all its descendants. Idempotent. */
  kill(): void;
  /** Never rejects: the exit code, 126 or 127 if the command cannot be run, 128+n if a signal ended it. With a terminal it resolves only
   *  once the output was read. */
  readonly exited: Promise<number>;
}

/** A command with nothing in the container yet. Call one of the two, once. */
export interface PreparedCommand {
  /** Like `spawn`, with the same errors. */
  begin(this: void, signal: AbortSignal): Promise<RuntimeProcess>;
  /** Cancels it. */
  discard(this: void): void;
}

/** One viewer of a container's console; all viewers see the same. */
export interface RuntimeConsole {
  readonly input: Writable;
  /** Ends when the container stops. Output that a viewer does not read in time is lost to it. */
  readonly output: Readable;
  resize(size: TerminalSize): void;
  /** Idempotent. */
  close(): void;
}
