// Generates completion scripts from the declared verbs. The scripts read live names with `gantry get KIND -o name`. Pure.
import { kindNames } from '../../../../server/api/kinds.ts';
import type { Flag } from '../../flags/flag.ts';
import { outputFlags } from '../../flags/output-flags.ts';
import { askedNames, type Completion, type Verb } from '../../flags/verb.ts';

/** All words that the scripts complete. */
export interface Vocabulary {
  readonly verbs: readonly Verb[];
  /** Groups of verbs of two words, with what they are about. */
  readonly groups: Readonly<Record<string, string>>;
}

interface Node {
  /** `image list`; empty for the program. */
  readonly path: string;
  readonly words: readonly { readonly name: string; readonly doc: string }[];
  readonly flags: readonly { readonly name: string; readonly doc: string; readonly takesValue: boolean }[];
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
  const program = { path: '', words: below(''), flags: [versionFlag].flatMap(flagsOf), wanted: 'file' } as const;
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

const versionFlag: Flag = { takes: 'switch', written: '-v, --version', doc: 'output the version number' };

function flagsOf({ written, doc, isHidden, opposite }: Flag): Node['flags'] {
  const name = /--[a-z-]+/.exec(written)?.[0] ?? '';
  const more = opposite === undefined ? [] : flagsOf(opposite);
  return isHidden === true ? more : [{ name, doc, takesValue: /[<[]/.test(written) }, ...more];
}

const kinds = kindNames.join(' ');
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function bashCompletion(vocabulary: Vocabulary): string {
  const nodes = commandNodes(vocabulary);
  const cases = nodes.map(({ path, words, flags, wanted, later }) => {
    const offered = [...words.map(({ name }) => name), ...flags.map(({ name }) => name)].join(' ');
    return `    ${quoted(path)}) offered=${quoted(offered)}; wanted=${words.length > 0 ? 'none' : wanted}${later === undefined ? '' : `; [ "$last" = 1 ] || wanted=${later}`} ;;`;
  });
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  // Not `path`: in zsh that is PATH.
  return `# bash completion for gantry; load it with: source <(gantry completion bash)
_gantry() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at='' offered='' wanted=file last=1 word next kind
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    next="\${at:+$at }$word"
    case "$next" in
    ${paths.join('|')}) at="$next"; last=1 ;;
    *) case "$word" in -*) ;; *) last=2 ;; esac ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=()
  local prev="\${COMP_WORDS[COMP_CWORD-1]}" index hosts=hosts.yaml places=()
  [ "$prev" = = ] && prev="\${COMP_WORDS[COMP_CWORD-2]}"
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
    -f | --file) places+=("\${COMP_WORDS[index+1]}") ;;
    --hosts) hosts="\${COMP_WORDS[index+1]}"; [ "$hosts" = = ] && hosts="\${COMP_WORDS[index+2]}" ;;
    esac
  done
  case "$at $prev" in
  'exec --env') ;;
  *' --env') COMPREPLY=($(compgen -W "$(gantry completion environments "\${places[@]}" 2>/dev/null)" -- "$cur")); return ;;
  *' --set') COMPREPLY=($(compgen -W "$(gantry completion set "$cur" 2>/dev/null)" -- "$cur")); return ;;
  *' --host') COMPREPLY=($(compgen -W "$(gantry completion hosts "$hosts" 2>/dev/null)" -- "$cur")); return ;;
  esac
  case "$cur" in
  -*) COMPREPLY=($(compgen -W "$offered" -- "$cur")); return ;;
  esac
  case "$wanted" in
  none) COMPREPLY=($(compgen -W "$offered" -- "$cur")) ;;
  kind)
    kind="\${COMP_WORDS[COMP_CWORD-1]}"
    case " ${kinds} " in
    *" $kind "*) COMPREPLY=($(compgen -W "$(gantry get "$kind" -o name 2>/dev/null)" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "${kinds}" -- "$cur")) ;;
    esac ;;
  container) COMPREPLY=($(compgen -W "$(gantry get container -o name 2>/dev/null)" -- "$cur")) ;;
  image) COMPREPLY=($(compgen -W "$(gantry get image_alias -o name 2>/dev/null)" -- "$cur")) ;;
  ${askedNames.join(' | ')})
    COMPREPLY=($(compgen -W "$(gantry completion "$wanted" "$cur" 2>/dev/null)" -- "$cur"))
    case "\${COMPREPLY[0]}" in
    */ | *: | *. | *=) type compopt >/dev/null 2>&1 && compopt -o nospace ;;
    esac ;;
  address)
    case "$cur" in
    */*)
      kind="\${cur%%/*}"
      COMPREPLY=($(compgen -P "$kind/" -W "$(gantry get "$kind" -o name 2>/dev/null)" -- "\${cur#*/}")) ;;
    *)
      COMPREPLY=($(compgen -S / -W "${kinds}" -- "$cur"))
      type compopt >/dev/null 2>&1 && compopt -o nospace ;;
    esac ;;
  *) COMPREPLY=($(compgen -f -- "$cur")) ;;
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
    const after = `complete -c gantry -n ${quoted(`__gantry_at '${path}'; and test (count (commandline -opc)) -gt ${path.split(' ').length + 1}`)}`;
    return [
      ...words.map(({ name, doc }) => `${begin} -f -a ${name} -d ${quoted(doc)}`),
      ...flags.map(
        ({ name, doc, takesValue }) =>
          `${begin} -l ${name.slice(2)}${takesValue ? ' -r' : ''}${valuesFor(path, name)} -d ${quoted(doc)}`,
      ),
      ...(words.length > 0 ? [] : namesFor(begin, wanted)),
      ...(later === undefined ? [] : namesFor(after, later)),
    ];
  });
  return `# fish completion for gantry; load it with: gantry completion fish | source
function __gantry_at
    set -l path ''
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$path $word")
        contains -- "$next" ${paths.join(' ')}; and set path $next
    end
    test "$path" = "$argv[1]"
end
function __gantry_of_kind
    set -l last (commandline -opc)[-1]
    if contains -- "$last" ${kinds}
        gantry get $last -o name 2>/dev/null
    else
        string split ' ' '${kinds}'
    end
end
function __gantry_addresses
    for kind in ${kinds}
        gantry get $kind -o name 2>/dev/null | string replace -r '^' "$kind/"
    end
end
${lines.join('\n')}
`;
}

/** Completes flags whose values are names that gantry can list. */
function valuesFor(path: string, flag: string): string {
  if (flag === '--set') return " -f -a '(gantry completion set (commandline -ct) 2>/dev/null)'";
  if (flag === '--env' && path !== 'exec') return " -f -a '(gantry completion environments 2>/dev/null)'";
  return flag === '--host' ? " -f -a '(gantry completion hosts hosts.yaml 2>/dev/null)'" : '';
}

function namesFor(begin: string, wanted: Completion): readonly string[] {
  if (askedNames.some((name) => name === wanted))
    return [`${begin} -f -a '(gantry completion ${wanted} (commandline -ct) 2>/dev/null)'`];
  if (wanted === 'container') return [`${begin} -f -a '(gantry get container -o name 2>/dev/null)'`];
  if (wanted === 'image') return [`${begin} -f -a '(gantry get image_alias -o name 2>/dev/null)'`];
  if (wanted === 'kind') return [`${begin} -f -a '(__gantry_of_kind)'`];
  return wanted === 'address' ? [`${begin} -f -a '(__gantry_addresses)'`] : [];
}
