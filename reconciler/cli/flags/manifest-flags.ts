// Flags of verbs that read manifests.
import { inSection, list, text, toggle, type Flag, type Options } from './flag.ts';
import type { Argument } from './verb.ts';

export const manifestArgs: readonly Argument[] = [
  ['[path...]', 'manifest files, directories, or - for stdin (default: the current directory)'],
];

export const manifestFlags = inSection('Manifests:', {
  file: list('-f, --file <path>', 'same as the path argument; may be repeated'),
  overlay: list('-k, --overlay <path>', 'also read documents with patch: true from here; may be repeated'),
  env: text(
    '--env <name>',
    'use an environment: overlays/NAME.yaml, overlays/NAME/ and overlays/NAME.vars.yaml beside the manifests',
  ),
  varFile: list('--var-file <file>', 'read variables from lines of NAME: value; may be repeated'),
  var: list('--var <name=value>', 'set a variable; may be repeated'),
  recursive: toggle('-R, --recursive', 'also read manifests in subdirectories, except overlays/'),
});
export type ManifestOptions = Options<typeof manifestFlags>;

export const lockFileFlag = inSection('Manifests:', {
  lockFile: text('--lock-file <file>', 'file of pinned images (default: gantry.lock beside the first manifest)'),
});

/** The set of verbs without manifests. */
export const setFlag = (doc = 'the set (default: default)'): { readonly set: Flag<'text'> } =>
  inSection('Manifests:', { set: text('--set <name>', doc) });

export const manifestSetFlag = setFlag('the set that the manifests belong to (default: manage.set, or default)');

/** Arguments and --file together; the current directory when neither is given. */
export function manifestPaths(args: readonly string[], options: ManifestOptions): readonly string[] {
  const paths = [...args, ...(options.file ?? [])];
  return [...(paths.length === 0 ? ['.'] : paths), ...(options.overlay ?? [])];
}
