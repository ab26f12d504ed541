// The completion scripts in their shells: the typed line, and the line after a tab.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = (shell: string): boolean => {
  const isMissing = spawnSync(shell, ['--version']).status !== 0;
  if (isMissing) console.log(`skipped: the ${shell} completion in ${shell}: it is not installed`);
  return isMissing;
};

const dir = tempFolder('gtco-');
let env: Readonly<Record<string, string>> = {};
beforeAll(async () => {
  mkdirSync(join(dir, 'bin'));
  mkdirSync(join(dir, 'work'));
  writeFileSync(join(dir, 'work', 'stack.yaml'), '');
  mkdirSync(join(dir, 'work', 'folder'));
  writeFileSync(join(dir, 'work', 'folder', 'inside.yaml'), '');
  // A stub of the program: live names of any kind.
  const stub = `#!/bin/sh
case "$1 $2" in
"completion container") printf "%s\\n" container-one container-two ;;
"completion address" | "completion object")
  kind="\${3%%/*}"
  case "$3" in
  profile/*) printf "%s\\n" profile/base profile/small ;;
  */*) printf "%s\\n" "$kind/$kind-one" "$kind/$kind-two" ;;
  *) printf "%s\\n" container-one container-two profile/ ;;
  esac ;;
"completion image") printf "%s\\n" debian/12 'odd $(touch ran)' "it's" ;;
"completion snapshot") echo "$3" | grep -q / && printf "%s\\n" c1/snap-one c1/snap-two 'c1/at 12:30' || printf "%s\\n" c1/ d1/ ;;
"completion set" | "completion controlled") printf "%s\\n" shop-a web-b "of-$GANTRY_HOST" ;;
"completion environments") printf "%s\\n" prod '$(touch ran)-env' ;;
"completion hosts" | "completion context") printf "%s\\n" lab ;;
"completion key") printf "%s\\n" container.config container.devices ;;
"completion config") printf "%s\\n" limits.memory= limits.cpu= ;;
"completion remote") printf "%s\\n" images ubuntu ubuntu-daily ;;
"completion source") printf "%s\\n" images:alpine/3 ubuntu: debian/12 ;;
esac
`;
  writeFileSync(join(dir, 'bin', 'gantry'), stub);
  chmodSync(join(dir, 'bin', 'gantry'), 0o755);
  env = {
    PATH: `${join(dir, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: dir,
    // A shell that ends late would write into the folder while it is removed.
    HISTFILE: '/dev/null',
    TERM: 'dumb',
    LC_ALL: 'C.UTF-8',
  };
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(dir, `gantry.${shell}`), (await cli(['completion', shell])).stdout);
});

/** The typed line, and the line after one tab where only one completion matches. */
const typed: readonly (readonly [string, string])[] = [
  ['gantry expl', 'gantry explain'],
  ['gantry image ref', 'gantry image refresh'],
  ['gantry history sh', 'gantry history show'],
  ['gantry apply --auto', 'gantry apply --auto-approve'],
  ['gantry get network_', 'gantry get network_acl'],
  ['gantry get network network-o', 'gantry get network network-one'],
  ['gantry exec container-t', 'gantry exec container-two'],
  ['gantry exec --cwd /tmp container-t', 'gantry exec --cwd /tmp container-two'],
  ['gantry file pull container-two/etc/hosts st', 'gantry file pull container-two/etc/hosts stack.yaml'],
  ['gantry export container/container-t', 'gantry export container/container-two'],
  ['gantry image export st', 'gantry image export stack.yaml'],
  ['gantry plan st', 'gantry plan stack.yaml'],
  ['gantry snapshot restore d', 'gantry snapshot restore d1/'],
  ['gantry snapshot restore c1/snap-o', 'gantry snapshot restore c1/snap-one'],
  ['gantry delete container-t', 'gantry delete container-two'],
  ['gantry delete prof', 'gantry delete profile/'],
  ['gantry delete profile/s', 'gantry delete profile/small'],
  ['gantry edit profile/b', 'gantry edit profile/base'],
  ['gantry apply --set sh', 'gantry apply --set shop-a'],
  ['gantry controller sync we', 'gantry controller sync web-b'],
  ['gantry explain container.c', 'gantry explain container.config'],
  ['gantry remote remove ubuntu-', 'gantry remote remove ubuntu-daily'],
  ['gantry set container-t', 'gantry set container-two'],
  ['gantry set c1 limits.m', 'gantry set c1 limits.memory='],
  ['gantry set c1 user.a=b limits.c', 'gantry set c1 user.a=b limits.cpu='],
  ['gantry launch deb', 'gantry launch debian/12'],
  ['gantry launch images:al', 'gantry launch images:alpine/3'],
  ['gantry apply --set=sh', 'gantry apply --set=shop-a'],
  ['gantry plan --file=st', 'gantry plan --file=stack.yaml'],
  ['gantry plan --file=fol', 'gantry plan --file=folder/'],
  ['gantry plan --file=folder/in', 'gantry plan --file=folder/inside.yaml'],
  ['gantry apply --env pr', 'gantry apply --env prod'],
  [
    'gantry apply --host https://web1:8443 --set of',
    'gantry apply --host https://web1:8443 --set of-https://web1:8443',
  ],
  ['gantry copy c1 --target-host l', 'gantry copy c1 --target-host lab'],
  ['gantry --host la', 'gantry --host lab'],
  ['gantry list -o st', 'gantry list -o stack.yaml'],
  ['gantry file push stack.yaml container-t', 'gantry file push stack.yaml container-two'],
  ['gantry file pull container-t', 'gantry file pull container-two'],
  ['gantry exec --client-cert st', 'gantry exec --client-cert stack.yaml'],
];

/** Names that the server and the repository choose. */
const odd: readonly (readonly [string, string])[] = [
  ['gantry snapshot restore c1/a', 'gantry snapshot restore c1/at\\ 12:30'],
  ['gantry snapshot restore "c1/a', 'gantry snapshot restore "c1/at 12:30"'],
  ['gantry image delete i', "gantry image delete it\\'s"],
  ['gantry image delete o', 'gantry image delete odd\\ \\$\\(touch\\ ran\\)'],
  ['gantry apply --env \\$', 'gantry apply --env \\$\\(touch\\ ran\\)-env'],
];

/** Breaks the line at blanks, colons and equals signs, as readline does. */
const split = `rest="$2"; COMP_WORDS=(); while [[ "$rest" =~ ^\\ *([:=]+|[^:=\\ ]+) ]]; do COMP_WORDS+=("\${BASH_REMATCH[1]}"); rest="\${rest:\${#BASH_REMATCH[0]}}"; done; COMP_CWORD=$((\${#COMP_WORDS[@]}-1))`;

/** Types lines with a tab into a shell on a terminal of its own. Prints the lines that do not become what they should. */
const typing = (begin: string): string => `zmodload zsh/zpty
begin() { ${begin} }
all=''
until_seen() {
  integer i
  for i in {1..400}; do
    while zpty -r -t z out; do all+=$out; done
    [[ $all == *"$1"* ]] && return 0
    sleep 0.05
  done
  return 1
}
begin
until_seen ready || { print -r -- "no prompt: $all"; exit 1 }
while (( $# > 1 )); do
  all=''
  zpty -w -n z "$1"$'\\t'
  until_seen "$2" || print -r -- "$1 becomes $all instead of $2"
  zpty -w -n z $'\\C-u'
  shift 2
done
zpty -d z
`;

const typeInto = (begin: string, lines: readonly string[]) => {
  const script = join(dir, 'type.zsh');
  writeFileSync(script, typing(begin));
  const ran = spawnSync('zsh', ['-f', script, ...lines], { encoding: 'utf8', env, timeout: 100_000 });
  expect([ran.stdout, ran.status]).toEqual(['', 0]);
  expect(existsSync(join(dir, 'work/ran'))).toBe(false);
};

describe('completion', () => {
  /** What one shell offers for each of the typed lines. */
  const offeredBy = (program: string, ...argv: readonly string[]): readonly (readonly string[])[] =>
    execFileSync(program, [...argv, join(dir, `gantry.${program}`), ...typed.map(([line]) => line)], {
      encoding: 'utf8',
      env,
      cwd: join(dir, 'work'),
    })
      .split('\0')
      .slice(0, -1)
      .map((found) => found.trimEnd().split('\n'));

  test.skipIf(missing('bash'))('Bash completes a word', () => {
    const one = `COMP_LINE="$2"; COMP_POINT=\${#COMP_LINE}; ${split}; COMPREPLY=(); _gantry 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"; printf '\\0'`;
    const code = `source "$1"; while (($# > 1)); do ${one}; set -- "$1" "\${@:3}"; done`;
    const wanted = typed.map(([line, completed]) => {
      const word = completed.split(' ').at(-1) ?? '';
      // Bash keeps the part before its last break.
      const broken = /[^ ]*[:=](?=[^ ]*$)/.exec(line)?.[0] ?? '';
      return [word.slice(broken.length)];
    });
    expect(offeredBy('bash', '-c', code, 'bash')).toEqual(wanted);
  });

  test.skipIf(missing('fish'))('Fish offers the matching words and no others', () => {
    const code = `source $argv[1]; for line in $argv[2..]; complete -C $line; printf '\\0'; end`;
    const found = offeredBy('fish', '-N', '-c', code);
    expect(found.map((words) => words.map((word) => word.split('\t', 1).join('')))).toEqual(
      typed.map(([, wanted]) => [wanted.split(' ').at(-1)]),
    );
  });

  test.skipIf(missing('zsh'))(
    'Zsh completes the line after a tab',
    () =>
      typeInto(
        `zpty z env ZDOTDIR=$HOME zsh -f -i; zpty -w z "PS1='> '; autoload -U compinit && compinit -u -D; source $HOME/gantry.zsh; cd $HOME/work; echo re''ady"`,
        [...typed, ...odd].flat(),
      ),
    120_000,
  );

  test.skipIf(missing('zsh') || missing('bash'))(
    'Bash on a terminal quotes odd names, and runs no command in them',
    () =>
      typeInto(
        `zpty -e z bash --norc --noprofile -i; zpty -w z "PS1='> '; source $HOME/gantry.bash; cd $HOME/work; echo re''ady"`,
        odd.flat(),
      ),
    120_000,
  );
});
