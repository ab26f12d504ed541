// Shares a container's only console connection among any number of viewers. Opens it for the first and closes it after the last.
import { Readable, Writable } from 'node:stream';
import type { RuntimeConsole, RuntimeProcess, TerminalSize } from '../command.ts';
import { reasonOf } from '../../../lib/shared/reason.ts';

/** Max lag of a slow viewer, which then loses output: neither the others nor the container wait for it. */
const maxLagBytes = 1024 * 1024;

type OpenConnection = (name: string, size: TerminalSize) => RuntimeProcess;

export class ConsoleHub {
  readonly #open: OpenConnection;
  readonly #shared = new Map<string, SharedConsole>();
  readonly #leaving = new Map<string, Promise<unknown>>();

  constructor(open: OpenConnection) {
    this.#open = open;
  }

  attach(name: string, size: TerminalSize): RuntimeConsole {
    let shared = this.#shared.get(name);
    if (shared === undefined) {
      shared = new SharedConsole(this.#leaving.get(name), () => this.#open(name, size));
      this.#shared.set(name, shared);
      const mine = shared;
      const gone = this.#forgetAfter(name, shared.gone);
      shared.onIdle = () => {
        if (this.#shared.get(name) !== mine) return;
        this.#shared.delete(name);
        // The next connection is refused until this one is gone.
        this.#leaving.set(name, gone);
      };
    }
    return shared.view(size);
  }

  async #forgetAfter(name: string, gone: Promise<void>): Promise<void> {
    await gone;
    if (!this.#shared.has(name)) this.#leaving.delete(name);
  }

  close(): void {
    for (const shared of this.#shared.values()) shared.close();
  }
}

class SharedConsole {
  readonly gone: Promise<void>;
  onIdle: () => void = () => {};
  readonly #viewers = new Set<Viewer>();
  #connection: RuntimeProcess | undefined;
  #isClosed = false;
  #wanted: TerminalSize | undefined;
  readonly #connected: Promise<void>;

  constructor(before: Promise<unknown> | undefined, open: () => RuntimeProcess) {
    this.#connected = this.#begin(before, open);
    this.gone = this.#untilGone();
  }

  async #begin(before: Promise<unknown> | undefined, open: () => RuntimeProcess): Promise<void> {
    await before;
    if (!this.#isClosed) this.#connect(open());
  }

  async #untilGone(): Promise<void> {
    try {
      await this.#connected;
      await this.#connection?.exited;
    } catch (error) {
      const text = reasonOf(error);
      for (const viewer of this.#viewers) viewer.push(Buffer.from(`${text}\r\n`));
    }
    this.close();
  }

  view(size: TerminalSize): RuntimeConsole {
    const viewer = new Viewer();
    this.#viewers.add(viewer);
    this.#resize(size);
    const close = (): void => {
      viewer.destroy();
      if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
      this.close();
    };
    viewer.once('close', close);
    const input = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#connected.then(() => this.#type(chunk, done), done);
      },
    });
    input.on('error', () => {});
    return { input, output: viewer, resize: (to) => this.#resize(to), close };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onIdle();
    for (const viewer of this.#viewers) viewer.push(null);
    this.#viewers.clear();
    this.#connection?.stdout?.destroy();
  }

  #connect(connection: RuntimeProcess): void {
    this.#connection = connection;
    if (this.#wanted !== undefined) connection.resize(this.#wanted);
    connection.stdout?.on('data', (chunk: Buffer) => {
      for (const viewer of this.#viewers) if (viewer.readableLength <= maxLagBytes) viewer.push(chunk);
    });
    connection.stdout?.once('close', () => this.close());
    connection.stdout?.once('end', () => this.close());
  }

  #type(chunk: Buffer, done: (error?: Error | null) => void): void {
    const stdin = this.#connection?.stdin;
    if (stdin === undefined || stdin.destroyed || this.#isClosed) done(new Error('the console is closed'));
    else stdin.write(chunk, done);
  }

  /** The size of the newest or last resized viewer applies to all. */
  #resize(size: TerminalSize): void {
    this.#wanted = size;
    this.#connection?.resize(size);
  }
}

class Viewer extends Readable {
  constructor() {
    super({ highWaterMark: maxLagBytes });
  }
  override _read(): void {}
}
