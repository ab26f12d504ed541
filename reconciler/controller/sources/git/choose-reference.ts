// Chooses the reference that a source follows, from the list of a git server. Pure.
import semver from 'semver';
import { sourceErrors } from '../source.ts';
import type { GitSettings } from '../source-schema.ts';
import { checkedRefName, isObjectId, problemOfRefName } from './ref-name.ts';

export interface ReferenceRule {
  /** Patterns for git ls-remote. */
  readonly patterns: readonly string[];
  readonly by: 'default' | 'branch' | 'tag' | 'semver';
  /** The branch, the tag or the range. */
  readonly value: string;
}

export interface GitReference {
  /** Full name: refs/heads/main. */
  readonly ref: string;
  /** For people: main, v1.2.3. */
  readonly shown: string;
  /** The object that the reference names: a commit, or a tag that is an object. */
  readonly object: string;
}

export function wantedReference(settings: Pick<GitSettings, 'branch' | 'tag' | 'semver'>): ReferenceRule {
  const given = (['branch', 'tag', 'semver'] as const).filter((key) => settings[key] !== undefined);
  if (given.length > 1)
    throw sourceErrors.refused(`only one of branch, tag and semver may be given, not ${given.join(' and ')}`);
  const { branch, tag, semver: range } = settings;
  if (branch !== undefined)
    return { patterns: [`refs/heads/${checkedRefName('branch', branch)}`], by: 'branch', value: branch };
  if (tag !== undefined) return { patterns: [`refs/tags/${checkedRefName('tag', tag)}`], by: 'tag', value: tag };
  if (range === undefined) return { patterns: ['HEAD', 'refs/heads/*'], by: 'default', value: 'HEAD' };
  if (semver.validRange(range) === null) {
    throw sourceErrors.refused(`semver ${JSON.stringify(range)} is not a range of versions such as ^1.2 or >=1.0 <2.0`);
  }
  return { patterns: ['refs/tags/*'], by: 'semver', value: range };
}

export interface RemoteReference {
  readonly ref: string;
  readonly object: string;
}

/** Lines of `git ls-remote --symref`; others are left out. `head` is the branch that HEAD names. */
export function readListing(text: string): { readonly refs: readonly RemoteReference[]; readonly head?: string } {
  const refs: RemoteReference[] = [];
  let head: string | undefined;
  for (const line of text.split('\n')) {
    const [object = '', ref = ''] = line.split('\t');
    if (isObjectId(object) && ref !== '') refs.push({ ref, object });
    else if (object.startsWith('ref: refs/heads/') && ref === 'HEAD') head = object.slice('ref: '.length);
  }
  return head === undefined ? { refs } : { refs, head };
}

export function chooseReference(
  wanted: ReferenceRule,
  listing: ReturnType<typeof readListing>,
  repository: string,
): GitReference {
  const at = (ref: string): RemoteReference | undefined => listing.refs.find((listed) => listed.ref === ref);
  if (wanted.by === 'semver') return greatestVersion(wanted.value, listing.refs, repository);
  if (wanted.by === 'default') {
    const listed = listing.head === undefined ? undefined : at(listing.head);
    if (listed === undefined)
      throw sourceErrors.notFound(`${repository} has no default branch; write the branch to follow`);
    return chosenOf(listed);
  }
  const ref = `refs/${wanted.by === 'tag' ? 'tags' : 'heads'}/${wanted.value}`;
  const listed = at(ref);
  if (listed === undefined)
    throw sourceErrors.notFound(
      `${repository} has no ${wanted.by} ${wanted.value}: push it, or follow another one in gantry.yaml`,
    );
  return chosenOf(listed);
}

const chosenOf = ({ ref, object }: RemoteReference): GitReference => {
  const shown = ref.replace(/^refs\/(heads|tags)\//, '');
  // The server chose the name of the default branch, so it is not trusted.
  checkedRefName('reference', shown);
  return { ref, shown, object };
};

/** Whether the tag `ref` names a lower version than the tag `other`. */
export function isLowerVersion(ref: string, other: string): boolean {
  const [version, before] = [ref, other].map((one) => semver.parse(one.replace(/^refs\/tags\//, '')));
  return version && before ? semver.lt(version, before) : false;
}

/** Tags v1.2.3 and 1.2.3; of equal versions the one that comes first in the alphabet. Other tags are left out. */
function greatestVersion(range: string, refs: readonly RemoteReference[], repository: string): GitReference {
  let best: { readonly listed: RemoteReference; readonly version: semver.SemVer } | undefined;
  for (const listed of refs) {
    const name = listed.ref.startsWith('refs/tags/') ? listed.ref.slice('refs/tags/'.length) : '';
    if (listed.ref.endsWith('^{}') || problemOfRefName(name) !== undefined) continue;
    const version = semver.parse(name);
    if (version === null || !semver.satisfies(version, range)) continue;
    const order = best === undefined ? 1 : semver.compareBuild(version, best.version);
    if (order > 0 || (order === 0 && best !== undefined && listed.ref < best.listed.ref)) best = { listed, version };
  }
  if (best === undefined) throw sourceErrors.notFound(`${repository} has no tag with a version in the range ${range}`);
  return chosenOf(best.listed);
}
