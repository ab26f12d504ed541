// Repeats the connection flags of a command line for the next command that a message names, as they were typed. Pure.

const names = ['host', 'remote', 'embedded', 'runtime', 'client-cert', 'client-key', 'server-cert', 'project'];
const flag = new RegExp(`^--?(?:${names.join('|')})(=|$)`);

/** Begins with a space; empty where the command line names no server, since GANTRY_HOST and the context in use hold for the next command too. */
export function sameServer(argv: readonly string[]): string {
  const words: string[] = [];
  for (let index = 0; index < argv.length && argv[index] !== '--'; index += 1) {
    const written = flag.exec(argv[index] ?? '');
    if (written === null) continue;
    words.push(argv[index] ?? '');
    if (written[1] === '') words.push(argv[(index += 1)] ?? '');
  }
  return words.map((word) => ` ${forShell(word)}`).join('');
}

const forShell = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
