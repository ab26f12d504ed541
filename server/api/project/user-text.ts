// The user of an object as words of a message; lists have it as a URL. Pure.
import { defaultProject, qualifiedName } from './project-names.ts';

const kinds: Readonly<Record<string, string>> = {
  containers: 'container',
  profiles: 'profile',
  networks: 'network',
  images: 'image',
};

const object = /^\/1\.0\/([a-z-]+)\/([^/?]+)(?:\?(.*))?$/;
const volume = /^\/1\.0\/storage-pools\/([^/?]+)\/volumes\/custom\/([^/?]+)(?:\?(.*))?$/;

/** `container web`; a text that is no such URL stays. */
export function userText(user: string): string {
  const [, pool, ofPool, query] = volume.exec(user) ?? [];
  if (pool !== undefined && ofPool !== undefined) return `volume ${decodeURIComponent(pool)}/${nameIn(ofPool, query)}`;
  const [, collection = '', name, search] = object.exec(user) ?? [];
  const kind = Object.hasOwn(kinds, collection) ? kinds[collection] : undefined;
  return kind === undefined || name === undefined ? user : `${kind} ${nameIn(name, search)}`;
}

/** Answers show a qualified name as users of their project know it. */
const nameIn = (name: string, query = ''): string =>
  qualifiedName(new URLSearchParams(query).get('project') ?? defaultProject, decodeURIComponent(name));
