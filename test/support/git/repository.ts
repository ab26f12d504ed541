// A git repository of a test: a bare one as servers have, and a working copy in which commits are made. Both have the same folder of
// objects, so that a push is a file with the id of a commit, not seven programs.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
};

/** What `git init` makes, without a program: test files make a hundred repositories, and each program takes 30 ms of the processor. */
function makeEmpty(folder: string, config: string): void {
  for (const each of ['refs/heads', 'refs/tags', 'info']) mkdirSync(join(folder, each), { recursive: true });
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(
    join(folder, 'config'),
    `[gc]\n\tauto = 0\n[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\t${config}`,
  );
}

export class Repository {
  /** `file://` and plain paths work; HTTP servers serve the folder above. */
  readonly bare: string;
  readonly work: string;

  constructor(folder: string, name = 'site') {
    this.bare = join(folder, `${name}.git`);
    this.work = join(folder, `${name}-work`);
    makeEmpty(this.bare, 'bare = true\n[http]\n\treceivepack = true\n');
    for (const each of ['info', 'pack']) mkdirSync(join(this.bare, 'objects', each), { recursive: true });
    makeEmpty(
      join(this.work, '.git'),
      `bare = false\n\tlogallrefupdates = true\n[remote "origin"]\n\turl = ${this.bare}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`,
    );
    symlinkSync(join(this.bare, 'objects'), join(this.work, '.git', 'objects'));
  }

  git(...args: string[]): string {
    return this.gitWith({}, ...args);
  }

  gitWith(more: Readonly<Record<string, string>>, ...args: string[]): string {
    return this.#run('git', args, more);
  }

  #run(program: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): string {
    return execFileSync(program, args, {
      cwd: this.work,
      env: { ...env, ...more },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1e8,
    }).trim();
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.work, path)), { recursive: true });
      writeFileSync(join(this.work, path), text);
    }
  }

  /** Commits the files and pushes the branch. Returns the commit id. */
  commit(files: Readonly<Record<string, string>>, message = 'Change', branch = 'main'): string {
    this.write(files);
    this.#run('sh', ['-ec', 'git add -A && git commit --quiet --allow-empty -m "$1"', 'sh', message]);
    this.push(branch);
    return this.head();
  }

  /** Also over commits that this one does not follow. */
  push(branch = 'main'): void {
    this.#publish(`refs/heads/${branch}`, this.head());
  }

  tag(name: string, message?: string): void {
    this.git('tag', '-f', ...(message === undefined ? [name] : ['-a', '-m', message, name]));
    this.#publish(`refs/tags/${name}`, this.#read(`refs/tags/${name}`));
  }

  #read(path: string): string {
    return readFileSync(join(this.work, '.git', path), 'utf8').trim();
  }

  #publish(ref: string, id: string): void {
    const file = join(this.bare, ref);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new.lock`, `${id}\n`);
    renameSync(`${file}.new.lock`, file);
  }

  /** Pushes an empty commit by each author; one program makes all of them. */
  pushMany(authors: readonly string[]): void {
    const commit = (name: string): string =>
      `commit refs/heads/main\nauthor ${name} <${name}@example.org> 1767225600 +0000\ncommitter Ada <ada@example.org> 1767225600 +0000\ndata 4\nmore\n`;
    const input = authors.map((name, at) => commit(name) + (at === 0 ? `from ${this.head()}\n` : '')).join('\n');
    execFileSync('git', ['fast-import', '--quiet'], { cwd: this.work, env, input });
    this.push();
  }

  /** Writes a raw object, even one that git would refuse. */
  writeObject(type: 'blob' | 'tree' | 'commit', contents: Buffer): string {
    const args = ['hash-object', '-w', '-t', type, '--literally', '--stdin'];
    return execFileSync('git', args, { cwd: this.work, env, input: contents, encoding: 'utf8' }).trim();
  }

  head(): string {
    const head = this.#read('HEAD');
    return head.startsWith('ref: ') ? this.#read(head.slice(5)) : head;
  }
}
