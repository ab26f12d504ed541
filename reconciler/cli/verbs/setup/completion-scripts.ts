// Generates completion scripts from the declared verbs. The scripts read names with `gantry completion NAME WORD`. Pure.
import { kindNames } from '../../../../server/api/kinds.ts';
import type { Flag } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { outputFlags } from '../../flags/output-flags.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';
import { askedNames, type Completion, type Verb } from '../../flags/verb.ts';

/** All words that the scripts complete. */
export interface Vocabulary {
  readonly verbs: readonly Verb[];
  /** Groups of verbs of two words, with what they are about. */
  readonly groups: Readonly<Record<string, string>>;
}

interface NodeFlag {
  readonly name: string;
  /** The letter of `-o`. */
  readonly letter?: string;
  readonly doc: string;
  readonly takesValue: boolean;
}

interface Node {
  /** `image list`; empty for the program. */
  readonly path: string;
  readonly words: readonly { readonly name: string; readonly doc: string }[];
  readonly flags: readonly NodeFlag[];
  readonly wanted: Completion;
  /** For the words after the first, where these are others. */
  readonly later?: Completion;
}

export function commandNodes({ verbs, groups }: Vocabulary): readonly Node[] {
  const below = (path: string): Node['words'] => {
    const head = path === '' ? '' : `${path} `;
    const found = verbs.flatMap(({ name, summary }) =>
      name.startsWith(head) && !name.slice(head.length).includes(' ')
        ? [{ name: name.slice(head.length), doc: summary }]
        : [],
    );
    return path === '' ? [...found, ...Object.entries(groups).map(([name, doc]) => ({ name, doc }))] : found;
  };
  const program = { path: '', words: below(''), flags: programFlags.flatMap(flagsOf), wanted: 'file' } as const;
  const parents = Object.keys(groups).map((path): Node => ({ path, words: below(path), flags: [], wanted: 'file' }));
  const leaves = verbs.flatMap(({ name, alias, args, flags }): readonly Node[] => {
    const all = [...Object.values(flags), ...Object.values(outputFlags)].flatMap(flagsOf);
    const [wanted = 'file', next] = (args ?? []).flatMap(([, , completion]) => completion ?? []);
    const later = next === undefined || next === wanted ? {} : { later: next };
    const paths = [name, ...(alias === undefined ? [] : [name.replace(/\S+$/, alias)])];
    return paths.map((path) => ({ path, words: below(name), flags: all, wanted, ...later }));
  });
  return [program, ...parents, ...leaves];
}

/** The server is often named before the verb. */
const programFlags: readonly Flag[] = [
  { takes: 'switch', written: '-v, --version', doc: 'output the version number' },
  hostFlags.host,
];

function flagsOf({ written, doc, isHidden, opposite }: Flag): Node['flags'] {
  const name = /--[a-z-]+/.exec(written)?.[0] ?? '';
  const letter = /^-([a-zA-Z]),/.exec(written)?.[1];
  const more = opposite === undefined ? [] : flagsOf(opposite);
  return isHidden === true
    ? more
    : [{ name, ...withoutUndefined({ letter }), doc, takesValue: /[<[]/.test(written) }, ...more];
}

/** Flags whose value is the next word, wherever they are known. */
function valuedFlags(nodes: readonly Node[]): readonly string[] {
  const flags = nodes.flatMap((node) => node.flags);
  const written = (takesValue: boolean): Set<string> =>
    new Set(
      flags
        .filter((flag) => flag.takesValue === takesValue)
        .flatMap(({ name, letter }) => (letter === undefined ? [name] : [name, `-${letter}`])),
    );
  const switches = written(false);
  return [...written(true)].filter((flag) => !switches.has(flag));
}

const kinds = kindNames.join(' ');
/** Flags that take a server and no host of a hosts file. */
const contextFlags = ['--target-host', '--lxd'];
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function bashCompletion(vocabulary: Vocabulary): string {
  const nodes = commandNodes(vocabulary);
  const cases = nodes.map(({ path, words, flags, wanted, later }) => {
    const offered = [...words.map(({ name }) => name), ...flags.map(({ name }) => name)].join(' ');
    const letters = flags.flatMap(({ letter, takesValue }) =>
      takesValue && letter !== undefined ? [`-${letter}`] : [],
    );
    const valued = letters.length === 0 ? '' : ` valued=' ${letters.join(' ')} ';`;
    return `    ${quoted(path)}) offered=${quoted(offered)};${valued} wanted=${words.length > 0 ? 'none' : wanted}${later === undefined ? '' : `; [ "$last" = 1 ] || wanted=${later}`} ;;`;
  });
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  const valued = valuedFlags(nodes);
  const long = valued.filter((flag) => flag.startsWith('--'));
  // Not `path`: in zsh that is PATH. Never `compgen -W` with names: it runs the commands in them.
  return `# bash completion for gantry; load it with: source <(gantry completion bash)
_gantry_names() {
  GANTRY_HOST="\${server:-$GANTRY_HOST}" gantry completion "$@" 2>/dev/null
}
# Files and folders that continue $1.
_gantry_files() {
  local file
  [ -z "$ZSH_VERSION" ] || setopt local_options null_glob
  for file in "$1"*; do
    [ ! -d "$file" ] || file="$file/"
    [ ! -e "$file" ] || printf '%s\\n' "$file"
  done
}
# Offers the lines that continue the typed word, quoted for the shell. $1: the part of each line that is not typed.
_gantry_offer() {
  local line
  while IFS= read -r line; do
    line="\${line#"$1"}"
    case "$line" in
    '') continue ;;
    "$typed"*) ;;
    *) continue ;;
    esac
    [ -n "$quote" ] || printf -v line %q "$line"
    line="$lead$line"
    COMPREPLY+=("\${line#"$cut"}")
  done
  case "\${COMPREPLY[0]}" in
  */ | *: | *. | *=) type compopt >/dev/null 2>&1 && compopt -o nospace ;;
  esac
}
_gantry() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" rest="$COMP_LINE" whole='' all=()
  local at='' offered='' valued='' wanted=file last=1 word next prev='' flag value hosts=hosts.yaml server='' places=()
  # Bash splits words at colons and equals signs.
  for word in "\${COMP_WORDS[@]:0:$((COMP_CWORD+1))}"; do
    if [ -n "$word" ] && [ -n "$whole" ] && [[ "$rest" == "$word"* ]]; then
      whole+="$word"
    else
      [ -z "$whole" ] || all+=("$whole")
      whole="$word"
      rest="\${rest#"\${rest%%[! ]*}"}"
    fi
    rest="\${rest#"$word"}"
  done
  for word in "\${all[@]:1}"; do
    next="\${at:+$at }$word"
    case "$next" in
    ${paths.join('|')}) at="$next"; last=1 ;;
    *) case "$word/$prev" in -* | ${valued.map((flag) => `*/${flag}`).join(' | ')}) ;; *) last=2 ;; esac ;;
    esac
    flag="$prev" value="$word"
    case "$word" in --*=*) flag="\${word%%=*}"; value="\${word#*=}" ;; esac
    case "$flag" in
    -f | --file) places+=("$value") ;;
    --hosts) hosts="$value" ;;
    --host) server="$value" ;;
    esac
    prev="$word"
  done
  case "$at" in
${cases.join('\n')}
  esac
  local typed="$whole" lead='' quote='' cut="\${whole%"$cur"}" kind
  case "$cur" in [:=]*) cut="$whole" ;; esac
  case "$typed" in --*=*) prev="\${typed%%=*}"; lead="$prev="; typed="\${typed#*=}" ;; esac
  case "$typed" in
  [\\'\\"]*) quote=1; typed="\${typed:1}" ;;
  *) typed="\${typed//\\\\/}" ;;
  esac
  COMPREPLY=()
  case "$at $prev" in
  'exec --env') ;;
  *' --env') _gantry_offer < <(_gantry_names environments "\${places[@]}"); return ;;
  *' --set') _gantry_offer < <(_gantry_names set "$typed"); return ;;
  *' --host') server=''; _gantry_offer < <(_gantry_names hosts "$hosts"); return ;;
  ${contextFlags.map((name) => `*' ${name}'`).join(' | ')}) _gantry_offer < <(_gantry_names context "$typed"); return ;;
  ${long.map((name) => `*' ${name}'`).join(' | ')}) wanted=file ;;
  *)
    case "$typed" in
    -*) COMPREPLY=($(compgen -W "$offered" -- "$typed")); return ;;
    esac
    case "$valued" in *" $prev "*) wanted=file ;; esac ;;
  esac
  case "$wanted" in
  none) COMPREPLY=($(compgen -W "$offered" -- "$typed")) ;;
  kind)
    case " ${kinds} " in
    *" $prev "*) _gantry_offer "$prev/" < <(_gantry_names object "$prev/$typed") ;;
    *) COMPREPLY=($(compgen -W "${kinds}" -- "$typed")) ;;
    esac ;;
  ${askedNames.join(' | ')}) _gantry_offer < <(_gantry_names "$wanted" "$typed") ;;
  *)
    # The files of zsh do not continue a flag.
    [ -n "$lead" ] && [ -n "$ZSH_VERSION" ] && { _gantry_offer < <(_gantry_files "$typed"); return; }
    type compopt >/dev/null 2>&1 && compopt -o default 2>/dev/null || _gantry_offer < <(_gantry_files "$typed") ;;
  esac
}
complete -F _gantry gantry
`;
}

/** zsh loads the bash script. */
export const zshCompletion = (vocabulary: Vocabulary): string =>
  `#compdef gantry\n# zsh completion for gantry; load it with: source <(gantry completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n${bashCompletion(vocabulary)}`;

export function fishCompletion(vocabulary: Vocabulary): string {
  const nodes = commandNodes(vocabulary);
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  const lines = nodes.flatMap(({ path, words, flags, wanted, later }) => {
    const begin = `complete -c gantry -n ${quoted(`__gantry_at '${path}'`)}`;
    const at = (place: string): string => `complete -c gantry -n ${quoted(`__gantry_at '${path}' ${place}`)}`;
    return [
      ...words.map(({ name, doc }) => `${begin} -f -a ${name} -d ${quoted(doc)}`),
      ...flags.map(
        ({ name, letter, doc, takesValue }) =>
          `${begin} -l ${name.slice(2)}${letter === undefined ? '' : ` -s ${letter}`}${takesValue ? ' -r' : ''}${valuesFor(path, name)} -d ${quoted(doc)}`,
      ),
      ...(words.length > 0 ? [] : namesFor(later === undefined ? begin : at('first'), wanted)),
      ...(later === undefined ? [] : namesFor(at('later'), later)),
    ];
  });
  return `# fish completion for gantry; load it with: gantry completion fish | source
# Whether the words so far lead to a verb, and with a second argument whether its first word or a later one is typed.
function __gantry_at
    set -l path ''
    set -l place first
    set -l prev ''
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$path $word")
        if contains -- "$next" ${paths.join(' ')}
            set path $next
            set place first
        else if not string match -q -- '-*' "$word"; and not contains -- "$prev" ${valuedFlags(nodes).join(' ')}
            set place later
        end
        set prev "$word"
    end
    test "$path" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test "$place" = "$argv[2]"
end
# The values of a flag on the line.
function __gantry_values
    set -l words (commandline -opc)
    set -l index 2
    while test $index -le (count $words)
        set -l pair (string split -m 1 -- = $words[$index])
        set index (math $index + 1)
        if contains -- $pair[1] $argv
            set -q pair[2]; and echo -- $pair[2]; or echo -- $words[$index]
        end
    end
end
function __gantry_names
    set -l server (__gantry_values --host)
    set -q server[1]; and set -lx GANTRY_HOST $server[1]
    gantry completion $argv 2>/dev/null
end
function __gantry_hosts
    set -l file (__gantry_values --hosts) hosts.yaml
    gantry completion hosts $file[1] 2>/dev/null
end
function __gantry_of_kind
    set -l last (commandline -opc)[-1]
    if contains -- "$last" ${kinds}
        __gantry_names object $last/ | string replace -- $last/ ''
    else
        string split ' ' '${kinds}'
    end
end
${lines.join('\n')}
`;
}

/** Completes flags whose values are names that gantry can list. */
function valuesFor(path: string, flag: string): string {
  if (flag === '--set') return ` -f -a '(__gantry_names set)'`;
  if (flag === '--env' && path !== 'exec') return ` -f -a '(__gantry_names environments (__gantry_values -f --file))'`;
  if (contextFlags.includes(flag)) return ` -f -a '(__gantry_names context)'`;
  return flag === '--host' ? ` -f -a '(__gantry_hosts)'` : '';
}

function namesFor(begin: string, wanted: Completion): readonly string[] {
  if (askedNames.some((name) => name === wanted))
    return [`${begin} -f -a '(__gantry_names ${wanted} (commandline -ct))'`];
  return wanted === 'kind' ? [`${begin} -f -a '(__gantry_of_kind)'`] : [];
}
