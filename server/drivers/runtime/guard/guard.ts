// A separate process that kills containers when the daemon stops feeding it: the daemon may be dead, frozen or cut off. It outlives the
// daemon; the next daemon starts its own and ends the former.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isSameProcess, readBootId, readProcess } from '../../../lib/shared/processes.ts';
import { findProgram } from '../host/programs.ts';
import { bootSeconds, type Feed, guardEnd, guardLine } from './guard-line.ts';
import { guardScript } from './guard-script.ts';
import { startUntilLine } from './start-until.ts';
import { programEnv } from '../../../lib/program-env.ts';
import { succeeds } from '../../../lib/shared/attempt.ts';

/** The daemon's note about its guard, for the next daemon. */
export interface GuardNote {
  readonly pid: number;
  readonly startTime: number;
  readonly names: readonly string[];
}

/** A guard that does not answer in this time counts as failed. */
const answerMs = 3_000;

export class Guard {
  readonly #dir: string;
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  /** Guards that answered too late; they guard their last feed until another guard has it. */
  readonly #late = new Set<ChildProcessByStdio<Writable, Readable, null>>();
  #number = 0;
  readonly #waiting = new Map<number, () => void>();
  #noted = '';
  #startUntil = '';

  /** `dir`: the existing directory of the note. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Why this host can have no guard; undefined if it can. */
  static missing(): string | undefined {
    if (process.platform !== 'linux') return 'containers are only guarded on Linux';
    return findProgram('perl') === undefined ? 'perl is missing (package perl-base)' : undefined;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Once it resolves, the guard kills these at that time, unless it is fed again. Throws an Error if no guard works. */
  async feed({ untilMs, paths }: Feed, names: readonly string[]): Promise<void> {
    const former = this.#child === undefined ? this.note() : undefined;
    const child = this.#child ?? this.#start();
    await this.#write(child.pid ?? 0, names);
    const number = (this.#number += 1);
    const bootS = bootSeconds();
    const endS = guardEnd(untilMs, bootS, performance.now());
    const line = guardLine(number, endS, paths);
    await this.#limitStarts(endS);
    await this.#answered(child, number, line);
    if (former !== undefined) endFormer(former);
    this.#endLate();
  }

  /** The note of an earlier daemon, or this one. */
  note(): GuardNote | undefined {
    try {
      const { pid, startTime, names } = JSON.parse(readFileSync(this.#file, 'utf8')) as Partial<GuardNote>;
      if (typeof pid !== 'number' || typeof startTime !== 'number' || !Array.isArray(names)) return undefined;
      return { pid, startTime, names };
    } catch {
      return undefined;
    }
  }

  /** Whether a guard has killed containers since `forgetEnd`. */
  get hasEnded(): boolean {
    return exists(this.#endedFile);
  }

  forgetEnd(): void {
    rmSync(this.#endedFile, { force: true });
  }

  /** Ends the guard: nothing is left to guard. */
  quit(): void {
    const former = this.#child === undefined ? this.note() : undefined;
    this.#child?.stdin.write('quit\n');
    this.letGo();
    this.#endLate();
    this.#noted = '';
    if (former !== undefined) endFormer(former);
    for (const file of [this.#file, this.startUntilFile]) rmSync(file, { force: true });
    this.#startUntil = '';
  }

  /** The daemon ends; the guard runs until its deadline. */
  letGo(): void {
    this.#child?.stdin.end();
    this.#child?.stdout.destroy();
    this.#child?.unref();
    this.#child = undefined;
  }

  get #file(): string {
    return join(this.#dir, 'guard.json');
  }

  /** The deadline for starting a container, for `RunConfig.startUntilFile`: the last feed. Without a guard there is no such file. */
  get startUntilFile(): string {
    return join(this.#dir, 'start-until');
  }

  get limitsStarts(): boolean {
    return existsSync(this.startUntilFile);
  }

  get #endedFile(): string {
    return join(this.#dir, 'guard-ended');
  }

  #start(): ChildProcessByStdio<Writable, Readable, null> {
    const perl = findProgram('perl');
    if (perl === undefined) throw new Error('perl is missing (package perl-base)');
    // A separate session: what ends the daemon does not end it.
    const child = spawn(perl, ['-e', guardScript(process.arch), '--', this.#endedFile], {
      detached: true,
      cwd: '/',
      env: programEnv,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child = child;
    child.stdin.on('error', () => {});
    child.on('error', () => this.#forget(child));
    child.on('exit', () => this.#forget(child));
    let text = '';
    child.stdout.on('data', (bytes: Buffer) => {
      const lines = (text + bytes.toString()).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#waiting.get(Number(line))?.();
    });
    return child;
  }

  #endLate(): void {
    for (const late of this.#late) late.kill('SIGKILL');
    this.#late.clear();
  }

  #forget(child: object): void {
    if (this.#child === child) this.#child = undefined;
  }

  async #answered(child: ChildProcessByStdio<Writable, Readable, null>, number: number, line: string): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.set(number, resolve);
        late = setTimeout(() => reject(new Error(`the guard has not answered in ${answerMs} ms`)), answerMs);
        child.once('exit', () => reject(new Error('the guard has ended')));
        child.stdin.write(line);
      });
    } catch (error) {
      // The next feed replaces a frozen guard; without one it is the only guard left. A guard that was let go stands alone.
      if (this.#child === child) this.#late.add(child);
      this.#forget(child);
      throw error;
    } finally {
      clearTimeout(late);
      this.#waiting.delete(number);
      child.removeAllListeners('exit').on('exit', () => this.#forget(child));
    }
  }

  async #limitStarts(endS: number): Promise<void> {
    const text = startUntilLine(endS, readBootId());
    if (text === this.#startUntil) return;
    writeFileSync(`${this.startUntilFile}.new`, text, { mode: 0o600 });
    await rename(`${this.startUntilFile}.new`, this.startUntilFile);
    this.#startUntil = text;
  }

  /** Written before the feed: whatever happens then, the next daemon knows which containers may have been killed. */
  async #write(pid: number, names: readonly string[]): Promise<void> {
    const note: GuardNote = { pid, startTime: readProcess(pid)?.startTime ?? 0, names: names.toSorted() };
    const text = `${JSON.stringify(note)}\n`;
    if (text === this.#noted) return;
    writeFileSync(`${this.#file}.new`, text, { mode: 0o600 });
    await rename(`${this.#file}.new`, this.#file);
    this.#noted = text;
  }
}

function endFormer({ pid, startTime }: GuardNote): void {
  if (pid <= 1 || pid === process.pid || !isSameProcess(pid, startTime)) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone in between.
  }
}

const exists = (path: string): boolean => succeeds(() => readFileSync(path));
