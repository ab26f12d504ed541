// Describes a verb; the command line reads this before it loads the verb's code.
import type { Flags, Options } from './flag.ts';

/** Names that `gantry completion NAME WORD` lists for the scripts: containers and KIND/NAME, KIND/NAME alone, containers, aliases of images, snapshots, sets of the server and of the controller, keys of manifests, config keys of containers, remotes, images to copy. */
export const askedNames = [
  'object',
  'address',
  'container',
  'image',
  'snapshot',
  'set',
  'controlled',
  'key',
  'config',
  'remote',
  'source',
  'context',
] as const;
export type AskedName = (typeof askedNames)[number];

/** The names that a shell completes an argument with. */
export type Completion = 'kind' | 'file' | AskedName;

/** As commander writes it (`<name>`, `[path...]`), its meaning, and what completes it (files, unless said otherwise). */
export type Argument = readonly [written: string, doc?: string, completion?: Completion];

export interface Verb<F extends Flags = Flags> {
  /** `plan`, or `image list` for a verb of a group. */
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  readonly args?: readonly Argument[];
  readonly flags: F;
  /** The second argument begins a command with its own flags, also without `--`. */
  readonly runsCommand?: true;
  /** Empty arguments have a meaning. */
  readonly takesEmptyWords?: true;
  /** Command lines that the help shows. */
  readonly examples?: readonly string[];
}

export type OptionsOf<V extends Verb> = Options<V['flags']>;

export const verb = <F extends Flags>(
  name: string,
  summary: string,
  rest: Omit<Verb<F>, 'name' | 'summary'>,
): Verb<F> => ({ name, summary, ...rest });
