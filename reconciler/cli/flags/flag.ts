// Flags as data: how a flag is written, what it means, what it takes. The types of a verb's options follow from its flags. Pure.

/** The sections of a verb's help, in their order. */
export const sections = ['Manifests:', 'Selection:', 'Execution:', 'Connection:', 'Several hosts:', 'Output:'] as const;
export type Section = (typeof sections)[number];

interface ValueOf {
  readonly switch: boolean;
  readonly text: string;
  /** The flag may be repeated. */
  readonly list: readonly string[];
}

export interface Flag<Takes extends keyof ValueOf = keyof ValueOf> {
  readonly takes: Takes;
  /** As in `-f, --file <path>`. */
  readonly written: string;
  readonly doc: string;
  readonly section?: Section;
  readonly isHidden?: boolean;
  readonly isMandatory?: boolean;
  /** A second flag for the same option, as `--no-tty` beside `--tty`. */
  readonly opposite?: Flag;
}

/** By the names of options, as commander makes them of flags: `varFile` of `--var-file`, `color` of `--no-color`. */
export type Flags = Readonly<Record<string, Flag>>;

/** What a command line with these flags may hold. */
export type Options<F extends Flags> = { readonly [Name in keyof F]?: ValueOf[F[Name]['takes']] | undefined };

type Details = Omit<Flag, 'takes' | 'written' | 'doc'>;

const flagOf =
  <Takes extends keyof ValueOf>(takes: Takes) =>
  (written: string, doc: string, details: Details = {}): Flag<Takes> => ({ takes, written, doc, ...details });

export const toggle = flagOf('switch');
export const text = flagOf('text');
export const list = flagOf('list');

export const inSection = <F extends Flags>(section: Section, flags: F): F =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, section }])) as F;
