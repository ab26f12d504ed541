// Expands the template of a generator with the variables of each set. Pure.
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import { didYouMean, hint } from '../../../server/api/text/nearest-word.ts';
import type { Json } from '../../core/documents/document.ts';
import { matchesHost, type HostFacts, type HostPattern } from '../../core/documents/host-pattern.ts';
import { expandVariables, namesIn } from '../../manifest/variables/variables.ts';
import { withNumbers } from '../config/numbers.ts';
import { SetSchema, type WrittenSet } from '../config/schema.ts';
import { defaultMaxSets, type Entry, type GeneratorConfig } from '../config/generator-schema.ts';

export interface Problem {
  /** Below the generator; empty: all of it. */
  readonly path: string;
  readonly message: string;
}

export interface SetOfEntry {
  readonly set: WrittenSet;
  readonly entry: Entry;
}

export interface Expanded {
  readonly sets: readonly SetOfEntry[];
  readonly problems: readonly Problem[];
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const maxValue = 1000;

/** An entry with a problem makes no set; more entries than the cap make no sets at all. */
export function expand(generator: GeneratorConfig, entries: readonly Entry[]): Expanded {
  const { name, max = defaultMaxSets, set, directories, pullRequests } = generator;
  if (entries.length > max) {
    const message = `the generator ${name} would make ${entries.length} sets, and max is ${max}: raise max, or select fewer`;
    return { sets: [], problems: [{ path: 'max', message }] };
  }
  // A variable that only some entries have is empty in the others.
  const known = [...new Set(entries.flatMap((entry) => Object.keys(entry)))];
  const isOfRepository = directories !== undefined || pullRequests !== undefined;
  const made = entries.map((entry) => {
    const problems = isOfRepository ? hostileIn(set, entry) : [];
    return problems.length > 0 ? { sets: [], problems } : setOf(set as Json, entry, known);
  });
  return { sets: made.flatMap(({ sets }) => sets), problems: made.flatMap(({ problems }) => problems) };
}

/** Members without variables: everyone who may push chooses names of directories and branches, and these members run commands, query metrics and select hosts. */
const guarded = ['hooks', 'rollout', 'hosts'] as const;
const harmless = /^[\w.][\w./-]*$/;

function hostileIn(set: GeneratorConfig['set'], entry: Entry): readonly Problem[] {
  const template = set as Readonly<Record<string, Json>>;
  return guarded.flatMap((member) =>
    [...namesIn(template[member] ?? null)].flatMap((name) => {
      const value = entry[name] ?? '';
      const message = `takes the variable ${name} of the repository, whose value ${JSON.stringify(value.slice(0, 60))} has more than letters, digits and . _ - /`;
      return value === '' || harmless.test(value)
        ? []
        : [{ path: `set.${member}`, message: `set.${member} ${message}` }];
    }),
  );
}

function setOf(template: Json, entry: Entry, known: readonly string[]): Expanded {
  const wrongNames = Object.entries(entry).flatMap(([name, value]) => {
    if (!variableName.test(name)) return [`the variable ${JSON.stringify(name)} is no name: use letters, digits and _`];
    return value.length > maxValue ? [`the variable ${name} has more than ${maxValue} characters`] : [];
  });
  const unknown = [...namesIn(template)].filter((name) => !known.includes(name));
  const about = unknown.map((name) => `there is no variable ${name}${hint(name, known)}: it has ${known.join(', ')}`);
  const names = [...wrongNames, ...about].map((message) => ({ path: 'set', message: `${message}${of(entry)}` }));
  if (names.length > 0) return { sets: [], problems: names };
  const { value, empty } = expandVariables(template, new Map(known.map((name) => [name, entry[name]])));
  const set = withNumbers(SetSchema, value);
  const problems = [
    ...empty.map(({ path, name }) => ({
      path: `set.${path}`,
      message: `the variable ${name} has no value${of(entry)}`,
    })),
    ...validateBody(SetSchema, set, { unknownKeys: 'report' }).map(({ path, message, code, near }) => ({
      path: path === '' ? 'set' : `set.${path}`,
      message:
        code === 'unknownMember'
          ? `set.${path} is not a key of sets${didYouMean(near)}`
          : `set.${path} ${message}${of(entry)}`,
    })),
  ];
  return problems.length > 0 ? { sets: [], problems } : { sets: [{ set: set as WrittenSet, entry }], problems };
}

/** Names the set in a message. */
const of = (entry: Entry): string =>
  ` (of ${Object.entries(entry)
    .slice(0, 3)
    .map(([name, value]) => `${name}=${value.slice(0, 60)}`)
    .join(', ')})`;

/** The variables of each host that one of the patterns selects. */
export const entriesOfHosts = (patterns: readonly HostPattern[], hosts: readonly HostFacts[]): readonly Entry[] =>
  hosts
    .filter((host) => patterns.some((pattern) => matchesHost(pattern, host)))
    .map(({ name, labels }) => ({
      host: name,
      ...Object.fromEntries(
        Object.entries(labels).map(([key, value]) => [`label_${key.replaceAll(/[^A-Za-z0-9_]/g, '_')}`, value]),
      ),
    }));
