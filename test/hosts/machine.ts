// One booted machine: qemu without virtualisation, its serial console in a file, and scripts that its agent runs.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { portName } from './agent.ts';
import { cacheFolder, type BaseDisk } from './base-disk.ts';
import { interrupted } from './interrupt.ts';
import { program } from './program.ts';

interface Answer {
  readonly status: number;
  readonly output: string;
}

const bootSeconds = 300;

/** The value of `cache` of its root disk: `writeback` honours a flush, `unsafe` is faster. */
export type DiskCache = 'unsafe' | 'writeback';

export interface MachineOptions {
  /** The mode of its root disk; default unsafe. */
  readonly cache?: DiskCache | undefined;
  /** It reaches addresses of this machine. */
  readonly network?: boolean | undefined;
}

interface Files {
  readonly base: BaseDisk;
  readonly disks: readonly string[];
  readonly console: string;
  /** A private folder, removed with the machine. */
  readonly work: string;
}

function startQemu(
  { base, disks, console, work }: Files,
  { cache = 'unsafe', network = false }: MachineOptions,
): ChildProcess {
  interrupted.throwIfAborted();
  const args = [
    '-accel tcg,thread=multi,tb-size=512 -cpu max -smp 2 -m 2G',
    `-drive file=${work}/disk,cache=${cache},if=virtio,format=raw`,
    ...disks.map((file) => `-drive file=${file},readonly=on,if=virtio,format=raw`),
    '-device virtio-rng-pci -device virtio-serial -display none -monitor none',
    network ? '-nic user,model=virtio-net-pci' : '-nic none',
    `-chardev socket,id=lane,path=${work}/port,server=on,wait=off -device virtserialport,chardev=lane,name=${portName}`,
    `-chardev file,id=console,path=${console},append=on -serial chardev:console`,
    `-kernel ${base.kernel} -initrd ${base.initrd} -append`,
  ].flatMap((line) => line.split(' '));
  // On a busy machine the kernel's timer check fails and panics.
  const kernelLine = 'console=ttyS0 quiet panic=-1 mitigations=off no_timer_check systemd.show_status=0';
  return spawn('qemu-system-x86_64', [...args, kernelLine], { stdio: ['ignore', 'inherit', 'inherit'] });
}

export class Machine {
  readonly #files: Files;
  readonly #options: MachineOptions;
  #qemu: ChildProcess;
  #port: Socket | undefined;
  #next = 0;
  #rest = '';
  readonly #answers = new Map<string, (answer: Answer) => void>();
  readonly #boots: (() => void)[] = [];

  private constructor(files: Files, options: MachineOptions) {
    this.#files = files;
    this.#options = options;
    this.#qemu = startQemu(files, options);
  }

  /** Boots a copy of the base disk; the other disks are /dev/vdb and on, read-only. The console stays in its file. */
  static async boot(
    base: BaseDisk,
    disks: readonly string[],
    consoleFile: string,
    options: MachineOptions = {},
  ): Promise<Machine> {
    const work = await mkdtemp(join(cacheFolder, 'run-'));
    let machine: Machine | undefined;
    try {
      await program('cp', ['--sparse=always', '--reflink=auto', base.disk, join(work, 'disk')]);
      await rm(consoleFile, { force: true });
      machine = new Machine({ base, disks, console: consoleFile, work }, options);
      await machine.#up();
      return machine;
    } catch (error) {
      await machine?.remove();
      await rm(work, { recursive: true, force: true });
      throw error;
    }
  }

  async #up(): Promise<void> {
    const booted = this.#nextBoot();
    // It may fail while nobody waits for it yet.
    booted.catch(() => undefined);
    await this.#connect(`${this.#files.work}/port`);
    await booted;
  }

  /** Simulates a power cut, which loses unwritten data, then boots again from the disk. */
  async cut(): Promise<void> {
    await this.#kill();
    this.#rest = '';
    await rm(`${this.#files.work}/port`, { force: true });
    this.#qemu = startQemu(this.#files, this.#options);
    await this.#up();
  }

  /** The output of the console /dev/ttyS0 in all boots. */
  async console(): Promise<string> {
    return await readFile(this.#files.console, 'latin1');
  }

  /** Runs a bash script (-eu -o pipefail) as root. Returns its output, or throws an error with it. */
  async run(script: string, seconds = 600): Promise<string> {
    const id = String(++this.#next);
    const answer = new Promise<Answer>((resolve) => this.#answers.set(id, resolve));
    this.#port?.write(`${id} ${seconds} ${Buffer.from(script).toString('base64')}\n`);
    const limit = `the machine did not answer in ${seconds + 15} s`;
    const { status, output } = await within(answer, seconds + 15, limit).finally(() => this.#answers.delete(id));
    if (status === 124) throw new Error(`not done in ${seconds} s:\n${output}`);
    if (status !== 0) throw new Error(`exit status ${status}:\n${output}`);
    return output.trim();
  }

  /** Reboots cleanly, and returns when the agent answers again. */
  async reboot(): Promise<void> {
    const booted = this.#nextBoot();
    // The answer may get lost in the shutdown.
    await Promise.all([booted, this.run('systemctl --no-block reboot', 1).catch(() => undefined)]);
  }

  /** Kills the machine and removes its disk. */
  async remove(): Promise<void> {
    await this.#kill();
    await rm(this.#files.work, { recursive: true, force: true });
  }

  async #kill(): Promise<void> {
    this.#port?.destroy();
    if (this.#qemu.exitCode !== null || this.#qemu.signalCode !== null) return;
    const ended = once(this.#qemu, 'exit');
    this.#qemu.kill('SIGKILL');
    await ended;
  }

  async #nextBoot(): Promise<void> {
    const ready = new Promise<void>((resolve) => this.#boots.push(resolve));
    await within(ready, bootSeconds, `the machine was not up in ${bootSeconds} s`);
  }

  /** A busy qemu makes the socket a while before it listens to it. */
  async #connect(path: string): Promise<void> {
    await until(
      async () => (await this.#connected(path)) || this.#qemu.exitCode !== null || interrupted.aborted,
      30_000,
    );
    interrupted.throwIfAborted();
    if (this.#qemu.exitCode !== null) throw new Error(`qemu ended with ${this.#qemu.exitCode}`);
  }

  async #connected(path: string): Promise<boolean> {
    if (!existsSync(path)) return false;
    const port = createConnection(path).setEncoding('latin1');
    try {
      await once(port, 'connect');
    } catch {
      return false;
    }
    port.on('data', (text: string) => this.#read(text));
    port.on('error', () => undefined);
    this.#port = port;
    return true;
  }

  #read(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [id = '', status = '', output = ''] = line.split(' ');
      if (id === 'ready') this.#boots.splice(0).forEach((resolve) => resolve());
      else this.#answers.get(id)?.({ status: Number(status), output: Buffer.from(output, 'base64').toString() });
    }
  }
}

async function within<T>(work: Promise<T>, seconds: number, message: string): Promise<T> {
  interrupted.throwIfAborted();
  let end = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(message)), seconds * 1000);
    const stop = (): void => reject(interrupted.reason as Error);
    interrupted.addEventListener('abort', stop, { once: true });
    end = () => {
      clearTimeout(timer);
      interrupted.removeEventListener('abort', stop);
    };
  });
  return await Promise.race([work, late]).finally(() => end());
}
