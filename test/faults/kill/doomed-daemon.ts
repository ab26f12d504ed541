// A daemon as a separate process that ends itself on order, as by kill -9, at a chosen effect on the host: die-at-effect.ts.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { startChild, type Bundle, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { until } from '../../support/until.ts';

/** The process ends right before its effect with this number (from 1), or so many milliseconds after that effect has begun. */
export interface Death {
  readonly effect: number;
  readonly afterMs?: number;
}

export class DoomedDaemon {
  readonly #bundle: Pick<Bundle, 'entry'>;
  readonly #dir: string;
  readonly #runtime: 'sim' | 'lxc';
  readonly #more: readonly string[];
  #child: ChildDaemon | undefined;

  constructor(bundle: Pick<Bundle, 'entry'>, dir: string, runtime: 'sim' | 'lxc', more: readonly string[] = []) {
    this.#bundle = bundle;
    this.#dir = dir;
    this.#runtime = runtime;
    this.#more = more;
  }

  get child(): ChildDaemon {
    if (this.#child === undefined) throw new Error('the daemon does not run');
    return this.#child;
  }

  async start(): Promise<ChildDaemon> {
    writeFileSync(this.#preload, preloadCode());
    const environment = { GANTRY_TEST_ORDER: this.#order, NODE_OPTIONS: `--import=${this.#preload}` };
    this.#child = await startChild(this.#bundle, this.#dir, this.#runtime, this.#more, environment);
    return this.#child;
  }

  /** Resolves when the daemon is armed. */
  async arm(death: Death): Promise<void> {
    rmSync(this.#died, { force: true });
    await this.#send(death);
  }

  /** Number of effects since the last order; the daemon survives. */
  async effects(): Promise<number> {
    await this.#send({});
    return (JSON.parse(readFileSync(`${this.#order}.seen`, 'utf8')) as { seen: number }).seen;
  }

  /** The effect at which it died; undefined when it did not die of its order. */
  get diedAt(): string | undefined {
    return existsSync(this.#died) ? readFileSync(this.#died, 'utf8') : undefined;
  }

  get isDead(): boolean {
    return !existsSync(`/proc/${this.child.pid}/ns/mnt`);
  }

  async kill(): Promise<void> {
    await this.#child?.kill('SIGKILL').catch(() => {});
    this.#child = undefined;
  }

  async #send(order: object): Promise<void> {
    writeFileSync(this.#order, JSON.stringify(order));
    process.kill(this.child.pid, 'SIGUSR2');
    await until(() => !existsSync(this.#order) || this.isDead);
  }

  get #order(): string {
    return join(this.#dir, 'order.json');
  }
  get #preload(): string {
    return join(this.#dir, 'die-at-effect.mjs');
  }
  get #died(): string {
    return `${this.#order}.died`;
  }
}

/** JavaScript of die-at-effect, both from the sources and from the build. */
function preloadCode(): string {
  const isSource = import.meta.url.endsWith('.ts');
  const code = readFileSync(fileURLToPath(new URL(`die-at-effect.${isSource ? 'ts' : 'js'}`, import.meta.url)), 'utf8');
  return isSource ? transformSync(code, { loader: 'ts', format: 'esm' }).code : code;
}
