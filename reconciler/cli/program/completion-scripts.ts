// Completion scripts for shells, made from the tree of commands. Live names come from `gantry get KIND -o name` at the time. Pure.
import type { Command } from 'commander';
import { kindNames } from '../../../server/api/kinds.ts';

/** What stands in the place of arguments. */
type Wanted = 'address' | 'kind' | 'container' | 'file';

interface Node {
  /** `image list`; empty for the program. */
  readonly path: string;
  readonly words: readonly { readonly name: string; readonly doc: string }[];
  readonly flags: readonly { readonly name: string; readonly doc: string; readonly takesValue: boolean }[];
  readonly wanted: Wanted;
}

const containerArguments = /^(name|name\.\.\.|name command|source|target|container)$/;

export function commandNodes(program: Command): readonly Node[] {
  const walk = (command: Command, path: string): readonly Node[] => [
    {
      path,
      words: command.commands.map((one) => ({ name: one.name(), doc: one.description() })),
      flags: command.options.flatMap(({ long, description, hidden, flags }) =>
        long === null || long === undefined || hidden
          ? []
          : [{ name: long, doc: description, takesValue: /[<[]/.test(flags) }],
      ),
      wanted: wantedOf(command),
    },
    ...command.commands.flatMap((one) =>
      [one.name(), ...one.aliases()].flatMap((name) => walk(one, path === '' ? name : `${path} ${name}`)),
    ),
  ];
  return walk(program, '');
}

function wantedOf(command: Command): Wanted {
  const names = command.registeredArguments.map((argument) => argument.name());
  if (names.includes('kind/name')) return 'address';
  if (names[0] === 'kind') return 'kind';
  return names[0] !== undefined && containerArguments.test(names[0]) ? 'container' : 'file';
}

const kinds = kindNames.join(' ');
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function bashCompletion(program: Command): string {
  const nodes = commandNodes(program);
  const cases = nodes.map(({ path, words, flags, wanted }) => {
    const offered = [...words.map(({ name }) => name), ...flags.map(({ name }) => name)].join(' ');
    return `    ${quoted(path)}) offered=${quoted(offered)}; wanted=${words.length > 0 ? 'none' : wanted} ;;`;
  });
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  // Not `path`: in zsh that is PATH.
  return `# bash completion for gantry; load it with: source <(gantry completion bash)
_gantry() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at='' offered='' wanted=file word next kind
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    next="\${at:+$at }$word"
    case "$next" in
    ${paths.join('|')}) at="$next" ;;
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

/** zsh reads bash's. */
export const zshCompletion = (program: Command): string =>
  `#compdef gantry\n# zsh completion for gantry; load it with: source <(gantry completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n${bashCompletion(program)}`;

/** Conditions that read the same are asked once for each completion. */
export function fishCompletion(program: Command): string {
  const nodes = commandNodes(program);
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  const lines = nodes.flatMap(({ path, words, flags, wanted }) => {
    const begin = `complete -c gantry -n ${quoted(`__gantry_at '${path}'`)}`;
    return [
      ...words.map(({ name, doc }) => `${begin} -f -a ${name} -d ${quoted(doc)}`),
      ...flags.map(
        ({ name, doc, takesValue }) =>
          `${begin} -l ${name.slice(2)}${takesValue ? ' -r' : ''}${valuesFor(path, name)} -d ${quoted(doc)}`,
      ),
      ...(words.length > 0 ? [] : namesFor(begin, wanted)),
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

/** Of flags whose values have names that gantry can tell. */
function valuesFor(path: string, flag: string): string {
  if (flag === '--env' && path !== 'exec') return " -f -a '(gantry completion environments 2>/dev/null)'";
  return flag === '--host' ? " -f -a '(gantry completion hosts hosts.yaml 2>/dev/null)'" : '';
}

function namesFor(begin: string, wanted: Wanted): readonly string[] {
  if (wanted === 'container') return [`${begin} -f -a '(gantry get container -o name 2>/dev/null)'`];
  if (wanted === 'kind') return [`${begin} -f -a '(__gantry_of_kind)'`];
  return wanted === 'address' ? [`${begin} -f -a '(__gantry_addresses)'`] : [];
}
