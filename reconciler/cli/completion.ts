// Completion scripts for shells, made from the tree of commands. Live names come from `gantry get KIND -o name` at the time. Pure.
import type { Command } from 'commander';

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

const kinds =
  'server_config certificate project storage_pool storage_volume network profile image image_alias container';
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function bashCompletion(program: Command): string {
  const nodes = commandNodes(program);
  const cases = nodes.map(({ path, words, flags, wanted }) => {
    const offered = [...words.map(({ name }) => name), ...flags.map(({ name }) => name)].join(' ');
    return `    ${quoted(path)}) offered=${quoted(offered)}; wanted=${words.length > 0 ? 'none' : wanted} ;;`;
  });
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  return `# bash completion for gantry; load it with: source <(gantry completion bash)
_gantry() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path='' offered='' wanted=file word next kind
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
    ${paths.join('|')}) path="$next" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=()
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

export function fishCompletion(program: Command): string {
  const lines = commandNodes(program).flatMap(({ path, words, flags, wanted }) => {
    const when =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    const not =
      words.length === 0 || path === ''
        ? ''
        : `; and not __fish_seen_subcommand_from ${words.map(({ name }) => name).join(' ')}`;
    const begin = `complete -c gantry -n ${quoted(`${when}${not}`)}`;
    return [
      ...words.map(({ name, doc }) => `${begin} -f -a ${name} -d ${quoted(doc)}`),
      ...flags.map(
        ({ name, doc, takesValue }) =>
          `complete -c gantry -n ${quoted(when)} -l ${name.slice(2)}${takesValue ? ' -r' : ''} -d ${quoted(doc)}`,
      ),
      ...(words.length > 0 || path === '' ? [] : namesFor(begin, wanted)),
    ];
  });
  return `# fish completion for gantry; load it with: gantry completion fish | source\n${lines.join('\n')}\n`;
}

function namesFor(begin: string, wanted: Wanted): readonly string[] {
  if (wanted === 'container') return [`${begin} -f -a '(gantry get container -o name 2>/dev/null)'`];
  if (wanted === 'kind') return [`${begin} -f -a ${quoted(kinds)}`];
  const each = `for kind in ${kinds}; for name in (gantry get $kind -o name 2>/dev/null); echo $kind/$name; end; end`;
  return wanted === 'address' ? [`${begin} -f -a ${quoted(`(${each})`)}`] : [];
}
