// The part of a Ceph cluster that the ceph driver speaks to, in memory: it answers `rbd` and `rados` for one OSD pool, and notes what ran.
import { spawn } from 'node:child_process';
import { startProgramsBy } from '../../../server/lib/start-program.ts';

interface FakeImage {
  bytes: number;
  readonly parent: string | undefined;
  /** Whether each is protected. */
  readonly snapshots: Map<string, boolean>;
}

interface Answer {
  readonly code: number;
  readonly text: string;
}

const ok = (text = ''): Answer => ({ code: 0, text });
const failed = (code: number, text: string): Answer => ({ code, text });
const [notFound, busy, exists, invalid, notEmpty] = [2, 16, 17, 22, 39] as const;
const valued = new Set(['--cluster', '--id', '-p', '--size', '--image-feature', '--format', '--data-pool']);

export class FakeCeph {
  readonly images = new Map<string, FakeImage>();
  readonly marks = new Set<string>();
  /** The commands that ran, without options: `rbd snap create IMAGE@SNAPSHOT`. */
  readonly ran: string[] = [];
  /** The status with which a command fails, for faults. */
  fails: (command: string) => number | undefined = () => undefined;

  install(): void {
    startProgramsBy({
      start: ({ argv, env, stdio }) => {
        const { code, text } = this.#run(argv);
        const script = code === 0 ? 'printf %s "$1"' : 'printf %s "$1" >&2; exit "$2"';
        return spawn('sh', ['-c', script, 'sh', text, String(code)], { env, stdio: [...stdio] });
      },
    });
  }
  uninstall(): void {
    startProgramsBy(undefined);
  }
  /** What ran since the last call. */
  taken(): readonly string[] {
    return this.ran.splice(0);
  }

  #run(argv: readonly string[]): Answer {
    const words: string[] = [];
    for (let at = 0; at < argv.length; at += 1) {
      const word = argv[at] ?? '';
      if (valued.has(word)) at += 1;
      else if (!word.startsWith('--')) words.push(word.replace(/^osd\//, ''));
    }
    const size = argv[argv.indexOf('--size') + 1] ?? '';
    const command = words.join(' ');
    this.ran.push(command);
    const fault = this.fails(command);
    if (fault !== undefined) return failed(fault, 'as ordered');
    const [program, ...rest] = words;
    if (program === 'ceph') return ok('fsid');
    return program === 'rados' ? this.#rados(rest) : this.#rbd(rest, Number.parseInt(size, 10));
  }

  #rados([verb, , mark = '']: readonly string[]): Answer {
    if (verb === 'listomapkeys') return ok([...this.marks].map((each) => `${each}\n`).join(''));
    if (verb === 'setomapval') this.marks.add(mark);
    else if (verb === 'rmomapkey') this.marks.delete(mark);
    else return failed(1, 'error: (2) No such file or directory');
    return ok();
  }

  #rbd(words: readonly string[], bytes: number): Answer {
    const [verb = '', name = '', more = ''] = words;
    if (verb === 'ls') return ok(this.#list());
    if (verb === 'snap') return this.#snap(name, more);
    if (verb === 'create') {
      this.images.set(name, { bytes, parent: undefined, snapshots: new Map() });
      return ok();
    }
    if (verb === 'clone') return this.#clone(name, more);
    const image = this.images.get(name);
    if (image === undefined) return failed(notFound, 'no such image');
    if (verb === 'info') return ok(JSON.stringify({ name, size: image.bytes, ...parentOf(image) }));
    if (verb === 'resize') image.bytes = bytes;
    else if (verb === 'rm' || verb === 'rename') {
      if (verb === 'rm' && image.snapshots.size > 0) return failed(notEmpty, 'it has snapshots');
      this.images.delete(name);
      if (verb === 'rename') this.#renamed(name, more, image);
    } else return failed(invalid, `unknown: ${verb}`);
    return ok();
  }

  #renamed(from: string, to: string, image: FakeImage): void {
    this.images.set(to, image);
    for (const [name, { bytes, parent, snapshots }] of this.images)
      if (parent?.startsWith(`${from}@`) === true)
        this.images.set(name, { bytes, parent: parent.replace(from, to), snapshots });
  }

  #snap(verb: string, path: string): Answer {
    const [name = '', snapshot = ''] = path.split('@');
    const snapshots = this.images.get(name)?.snapshots;
    if (snapshots === undefined) return failed(notFound, 'no such image');
    if (verb === 'create') {
      if (snapshots.has(snapshot)) return failed(exists, 'it exists');
      snapshots.set(snapshot, false);
      return ok();
    }
    if (!snapshots.has(snapshot)) return failed(notFound, 'no such snapshot');
    const isProtected = snapshots.get(snapshot) === true;
    const hasClones = [...this.images.values()].some(({ parent }) => parent === path);
    if (verb === 'protect') {
      if (isProtected) return failed(busy, 'protected already');
      snapshots.set(snapshot, true);
    } else if (verb === 'unprotect') {
      if (!isProtected) return failed(invalid, 'not protected');
      if (hasClones) return failed(busy, 'it has clones');
      snapshots.set(snapshot, false);
    } else {
      if (isProtected) return failed(busy, 'protected');
      snapshots.delete(snapshot);
    }
    return ok();
  }

  #clone(path: string, to: string): Answer {
    const [name = '', snapshot = ''] = path.split('@');
    const source = this.images.get(name);
    if (source?.snapshots.has(snapshot) !== true) return failed(notFound, 'no such snapshot');
    if (source.snapshots.get(snapshot) !== true) return failed(invalid, 'parent snapshot must be protected');
    if (this.images.has(to)) return failed(exists, 'it exists');
    this.images.set(to, { bytes: source.bytes, parent: path, snapshots: new Map() });
    return ok();
  }

  #list(): string {
    const rows = [...this.images].flatMap(([name, image]) => [
      { image: name, size: image.bytes, ...parentOf(image) },
      ...[...image.snapshots.keys()].map((snapshot) => ({ image: name, snapshot, size: image.bytes })),
    ]);
    return JSON.stringify(rows);
  }
}

function parentOf({ parent }: FakeImage): object {
  if (parent === undefined) return {};
  const [image, snapshot] = parent.split('@');
  return { parent: { image, snapshot } };
}
