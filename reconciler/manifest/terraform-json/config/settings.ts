// The settings of `terraform` blocks: required versions and backends. Versions are checked; gantry has no backend for state.
import { version } from '../../../../server/api/version.ts';
import type { Json } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { Report } from '../problem.ts';
import type { Piece } from './blocks.ts';

/** Settings without meaning for gantry that most synthesized files have: they are ignored silently. */
const silent: ReadonlySet<string> = new Set(['//', 'provider_meta']);

/** `isRoot`: like Terraform, only the root module may have a backend. */
export function checkSettings(piece: Piece, isRoot: boolean, report: Report): void {
  for (const [key, value] of Object.entries(piece.body)) {
    const steps = [...piece.steps, key];
    const refuse = (code: Parameters<Report>[0]['code'], message: string): void =>
      report({ code, message, file: piece.file, steps });
    if (silent.has(key)) continue;
    if (key === 'required_version') checkLanguage(value, refuse);
    else if (key === 'required_providers') checkProviders(value, refuse);
    else if (key === 'backend' || key === 'cloud') {
      const kinds = isMap(value) ? Object.keys(value) : [];
      // The default backend of synthesizers.
      const isPlain = key === 'backend' && kinds.every((kind) => kind === 'local');
      const name = key === 'cloud' ? 'cloud' : `backend ${kinds.join(', ')}`;
      if (isRoot && !isPlain) refuse('E_BACKEND', `the ${name} is not used: there is no state to keep in it`);
    } else if (key === 'experiments') {
      if (Array.isArray(value) && value.length > 0) refuse('E_BLOCK', 'experiments of the language are not evaluated');
    } else refuse('E_BLOCK', `terraform has no setting ${key}`);
  }
}

type Refuse = (code: Parameters<Report>[0]['code'], message: string) => void;

function checkLanguage(value: Json, refuse: Refuse): void {
  const isAllowed = typeof value === 'string' ? allows(value, languageVersion) : undefined;
  if (isAllowed === true) return;
  if (isAllowed === undefined) refuse('E_SHAPE', `required_version: ${JSON.stringify(value)} is no version constraint`);
  else
    refuse(
      'E_VERSION',
      `required_version is ${JSON.stringify(value)}, and the language is read as Terraform ${languageVersion} does`,
    );
}

/** The version of the gantry provider; resources of others are refused. */
function checkProviders(value: Json, refuse: Refuse): void {
  const blocks = (Array.isArray(value) ? (value as readonly Json[]) : [value]).filter(isMap);
  for (const [name, wanted] of blocks.flatMap((block) => Object.entries(block))) {
    const constraint = typeof wanted === 'string' ? wanted : isMap(wanted) ? wanted['version'] : undefined;
    if (typeof constraint !== 'string' || !isOwn(name, wanted)) continue;
    const isAllowed = allows(constraint, version);
    if (isAllowed === undefined)
      refuse('E_SHAPE', `required_providers.${name}: ${JSON.stringify(constraint)} is no version constraint`);
    else if (!isAllowed)
      refuse('E_VERSION', `required_providers.${name} is ${JSON.stringify(constraint)}, and this is gantry ${version}`);
  }
}

function isOwn(name: string, wanted: Json): boolean {
  const source = isMap(wanted) ? wanted['source'] : undefined;
  return typeof source === 'string' ? /(?:^|\/)gantry\/gantry$/.test(source) : name === 'gantry';
}

/** The version of Terraform whose language gantry reads; tests compare with it. */
const languageVersion = '1.11.4';

interface Version {
  readonly numbers: readonly number[];
  readonly prerelease: string;
  /** The count of written numbers. */
  readonly length: number;
}

function read(text: string): Version | undefined {
  const match = /^v?(\d+(?:\.\d+){0,2})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (match === null) return undefined;
  const numbers = (match[1] ?? '').split('.').map(Number);
  return { numbers: [...numbers, 0, 0].slice(0, 3), prerelease: match[2] ?? '', length: numbers.length };
}

function compare(a: Version, b: Version): number {
  for (const [at, number] of a.numbers.entries()) {
    const difference = number - (b.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.prerelease === b.prerelease) return 0;
  if (a.prerelease === '' || b.prerelease === '') return a.prerelease === '' ? 1 : -1;
  return a.prerelease < b.prerelease ? -1 : 1;
}

const tests: Readonly<Record<string, (version: Version, wanted: Version) => boolean>> = {
  '': (version, wanted) => compare(version, wanted) === 0,
  '=': (version, wanted) => compare(version, wanted) === 0,
  '!=': (version, wanted) => compare(version, wanted) !== 0,
  '>': (version, wanted) => compare(version, wanted) > 0,
  '>=': (version, wanted) => compare(version, wanted) >= 0,
  '<': (version, wanted) => compare(version, wanted) < 0,
  '<=': (version, wanted) => compare(version, wanted) <= 0,
  // Only the last written number may be greater.
  '~>': (version, wanted) =>
    compare(version, wanted) >= 0 &&
    wanted.numbers.slice(0, Math.max(1, wanted.length - 1)).every((number, at) => number === version.numbers[at]),
};

/** Undefined when Terraform does not accept the constraint. */
function allows(constraint: string, version: string): boolean | undefined {
  const own = read(version);
  if (own === undefined) return undefined;
  let isAllowed = true;
  for (const part of constraint.split(',')) {
    const match = /^\s*(=|!=|>=|<=|>|<|~>)?\s*(\S+)\s*$/.exec(part);
    const wanted = match === null ? undefined : read(match[2] ?? '');
    const test = tests[match?.[1] ?? ''];
    if (wanted === undefined || test === undefined) return undefined;
    isAllowed &&= test(own, wanted);
  }
  return isAllowed;
}
