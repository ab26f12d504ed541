// Replaces vitest inside a booted machine, where vitest takes minutes to start: the same interface, tests run one after another.
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
export const expect = chai.expect;

type Work = () => void | Promise<void>;
interface Group {
  readonly name: string;
  readonly parent: Group | undefined;
  readonly before: Work[];
  readonly beforeEach: Work[];
  readonly after: Work[];
  /** Tests and groups, in the order in which they are written. */
  readonly parts: (Group | { readonly title: string; readonly work: Work })[];
}

const newGroup = (name: string, parent?: Group): Group => ({
  name,
  parent,
  before: [],
  beforeEach: [],
  after: [],
  parts: [],
});
const top = newGroup('');
let current = top;

export function describe(name: string, fill: () => void): void {
  const group = newGroup(name, current);
  current.parts.push(group);
  current = group;
  fill();
  current = group.parent ?? top;
}

export const beforeAll = (work: Work): void => void current.before.push(work);
export const beforeEach = (work: Work): void => void current.beforeEach.push(work);
export const afterAll = (work: Work): void => void current.after.push(work);

export const test = Object.assign((title: string, work: Work): void => void current.parts.push({ title, work }), {
  each:
    <T>(values: readonly T[]) =>
    (title: string, work: (value: T) => void | Promise<void>): void => {
      for (const value of values)
        test(title.replace('%j', JSON.stringify(value)).replace('%s', String(value)), () => work(value));
    },
});

export interface Result {
  passed: number;
  failed: number;
}

/** Runs the tests whose full name matches `only`. Prints each with its time. */
export async function runAll(only: RegExp): Promise<Result> {
  const result: Result = { passed: 0, failed: 0 };
  await runGroup(top, '', only, result);
  return result;
}

const wantedIn = (group: Group, path: string, only: RegExp): boolean =>
  group.parts.some((part) =>
    'title' in part ? only.test(`${path} ${part.title}`) : wantedIn(part, `${path} ${part.name}`, only),
  );

async function runGroup(group: Group, path: string, only: RegExp, result: Result): Promise<void> {
  if (!wantedIn(group, path, only)) return;
  for (const work of group.before) await work();
  for (const part of group.parts) {
    if ('title' in part) await runTest(`${path} ${part.title}`, [...eachBefore(group), part.work], only, result);
    else await runGroup(part, `${path} ${part.name}`, only, result);
  }
  for (const work of group.after) await work();
}

/** The beforeEach hooks of the group, outermost first. */
const eachBefore = (group: Group | undefined): readonly Work[] =>
  group === undefined ? [] : [...eachBefore(group.parent), ...group.beforeEach];

async function runTest(name: string, works: readonly Work[], only: RegExp, result: Result): Promise<void> {
  if (!only.test(name)) return;
  const begin = Date.now();
  let error: unknown;
  try {
    for (const work of works) await work();
  } catch (thrown) {
    error = thrown ?? new Error('it threw nothing');
  }
  const time = ((Date.now() - begin) / 1000).toFixed(1);
  if (error === undefined) result.passed += 1;
  else result.failed += 1;
  console.log(`${error === undefined ? '✓' : '✗'}${name} (${time} s)`);
  if (error !== undefined) console.log(shown(error));
}

function shown(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { actual, expected } = error as { actual?: unknown; expected?: unknown };
  const values =
    expected === undefined ? '' : `\n  found ${JSON.stringify(actual)}, wanted ${JSON.stringify(expected)}`;
  return `${error.stack ?? error.message}${values}${error.cause === undefined ? '' : `\n  because of ${shown(error.cause)}`}`;
}
