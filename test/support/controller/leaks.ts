// Looks for marked values wherever a controller could leave them: files, texts, and the process lists of a process and its children.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Every secret of the test has this word in it. */
export const mark = 'MARKED';

/** The word itself, and as base64 at each of its three alignments. */
const forms = [
  mark,
  ...[0, 1, 2].map((at) =>
    Buffer.from(`${'x'.repeat(at)}${mark}`)
      .toString('base64')
      .slice(at === 0 ? 0 : at + 1, -2),
  ),
];

/** A part of the text around each marked value. */
export const leaksIn = (place: string, text: string): readonly string[] =>
  forms.flatMap((form) => {
    const at = text.indexOf(form);
    return at < 0 ? [] : [`${place}: ${text.slice(Math.max(0, at - 80), at + 60)}`];
  });

export function leaksInFile(path: string): readonly string[] {
  const data = readFileSync(path);
  const isPacked = data[0] === 0x1f && data[1] === 0x8b;
  return leaksIn(path, (isPacked ? gunzipSync(data) : data).toString('latin1'));
}

export const leaksBelow = (path: string): readonly string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => leaksBelow(join(path, name)))
    : [...leaksIn(path, path), ...leaksInFile(path)];

/** Reads the arguments and environments of the process and of all its descendants, again and again. */
export class ProcessWatch {
  readonly #pid: number;
  readonly #leaks = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#look(), 15);
  }

  /** Ends the watch. `programs`: what was seen to run. */
  end(): { readonly leaks: readonly string[]; readonly programs: readonly string[] } {
    clearInterval(this.#timer);
    return { leaks: [...this.#leaks], programs: [...this.#seen] };
  }

  #look(): void {
    for (const pid of descendants(this.#pid)) {
      const [command, environment] = ['cmdline', 'environ'].map((name) => textOf(`/proc/${pid}/${name}`));
      this.#seen.add(command?.split('\0')[0] ?? '');
      for (const text of [command, environment])
        for (const leak of leaksIn(`process ${pid}`, text ?? '')) this.#leaks.add(leak);
    }
  }
}

function descendants(pid: number): readonly number[] {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(descendants)];
}

/** Empty for a process that has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
