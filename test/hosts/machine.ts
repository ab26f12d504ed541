// One booted machine: qemu without virtualisation, its serial console in a file, and scripts that its agent runs.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { portName } from './agent.ts';
import { cacheFolder, type BaseDisk } from './base-disk.ts';
import { program } from './program.ts';

interface Answer {
  readonly status: number;
  readonly output: string;
}

const bootSeconds = 300;

export class Machine {
  readonly #work: string;
  readonly #qemu: ChildProcess;
  #port: Socket | undefined;
  #next = 0;
  #rest = '';
  readonly #answers = new Map<string, (answer: Answer) => void>();
  readonly #boots: (() => void)[] = [];

  private constructor(work: string, qemu: ChildProcess) {
    this.#work = work;
    this.#qemu = qemu;
  }

  /** Boots a copy of the base disk; the other disks are /dev/vdb and on, read-only. The console stays in its file. */
  static async boot(base: BaseDisk, disks: readonly string[], consoleFile: string): Promise<Machine> {
    const work = await mkdtemp(join(cacheFolder, 'run-'));
    const root = join(work, 'disk');
    await program('cp', ['--sparse=always', '--reflink=auto', base.disk, root]);
    const args = [
      '-accel tcg,thread=multi,tb-size=512 -cpu max -smp 2 -m 2G',
      `-drive file=${root},cache=unsafe,if=virtio,format=raw`,
      ...disks.map((file) => `-drive file=${file},readonly=on,if=virtio,format=raw`),
      '-device virtio-rng-pci -device virtio-serial -display none -net none -monitor none',
      `-chardev socket,id=lane,path=${work}/port,server=on,wait=off -device virtserialport,chardev=lane,name=${portName}`,
      `-serial file:${consoleFile} -kernel ${base.kernel} -initrd ${base.initrd} -append`,
    ].flatMap((line) => line.split(' '));
    // A kernel that tests its timer takes a busy machine for one without a timer, and panics.
    const kernelLine = 'console=ttyS0 quiet panic=-1 mitigations=off no_timer_check systemd.show_status=0';
    const qemu = spawn('qemu-system-x86_64', [...args, kernelLine], { stdio: ['ignore', 'inherit', 'inherit'] });
    const machine = new Machine(work, qemu);
    try {
      const booted = machine.#nextBoot();
      await machine.#connect(`${work}/port`);
      await booted;
      return machine;
    } catch (error) {
      await machine.remove();
      throw error;
    }
  }

  /** Runs a script of bash (-eu -o pipefail) as root; its output, or an error with it. */
  async run(script: string, seconds = 180): Promise<string> {
    const id = String(++this.#next);
    const answer = new Promise<Answer>((resolve) => this.#answers.set(id, resolve));
    this.#port?.write(`${id} ${seconds} ${Buffer.from(script).toString('base64')}\n`);
    const limit = `the machine did not answer in ${seconds + 15} s`;
    const { status, output } = await within(answer, seconds + 15, limit).finally(() => this.#answers.delete(id));
    if (status === 124) throw new Error(`not done in ${seconds} s:\n${output}`);
    if (status !== 0) throw new Error(`exit status ${status}:\n${output}`);
    return output.trim();
  }

  /** Reboots as an administrator does, and returns when the machine obeys again. */
  async reboot(): Promise<void> {
    const booted = this.#nextBoot();
    // Its answer may get lost: the machine goes down.
    await Promise.all([booted, this.run('systemctl --no-block reboot', 1).catch(() => undefined)]);
  }

  /** Ends the machine at once and removes its disk. */
  async remove(): Promise<void> {
    this.#port?.destroy();
    if (this.#qemu.exitCode === null && this.#qemu.signalCode === null) {
      const ended = once(this.#qemu, 'exit');
      this.#qemu.kill('SIGKILL');
      await ended;
    }
    await rm(this.#work, { recursive: true, force: true });
  }

  async #nextBoot(): Promise<void> {
    const ready = new Promise<void>((resolve) => this.#boots.push(resolve));
    await within(ready, bootSeconds, `the machine was not up in ${bootSeconds} s`);
  }

  async #connect(path: string): Promise<void> {
    await until(() => existsSync(path) || this.#qemu.exitCode !== null, 30_000);
    if (this.#qemu.exitCode !== null) throw new Error(`qemu ended with ${this.#qemu.exitCode}`);
    const port = createConnection(path).setEncoding('latin1');
    port.on('data', (text: string) => this.#read(text));
    port.on('error', () => undefined);
    this.#port = port;
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), seconds * 1000);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
