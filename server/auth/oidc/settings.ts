// Reads the OpenID Connect config of the server, and users' rights from the groups of their tokens. Pure.
import { serverConfigKeys, serverConfigValue, type StoredServerConfig } from '../../api/server/server-config.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** The required audience of tokens; the client id unless it is set. */
  readonly audience: string;
  /** oidc.audience as set; empty if it is not. */
  readonly requestedAudience: string;
  readonly groupsClaim: string;
  readonly trustedGroups: ReadonlySet<string>;
  /** Group -> projects. */
  readonly projects: ReadonlyMap<string, readonly string[]>;
  /** Users must be NAME@DOMAIN of one of these. Empty: any. */
  readonly domains: readonly string[];
  /** Max age of a token in seconds, whatever its own expiry. */
  readonly longestLifeS?: number;
  /** Ed25519, base64: signs every token, so the issuer is not asked for keys. */
  readonly signingKey?: string;
}

/** What a user may do: everything, something in these projects, or nothing. */
export type Grant =
  | { readonly class: 'trusted' }
  | { readonly class: 'restricted'; readonly projects: readonly string[] }
  | { readonly class: 'untrusted' };

/** `subject`: the issuer's identity of the user; the name is only shown. */
export type OidcUser = Grant & { readonly name: string; readonly subject: string };

const projectsPrefix = 'oidc.groups.projects.';

const wordsOf = (list: string): readonly string[] =>
  list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** Undefined without an issuer or client id: tokens have no meaning then. */
export function oidcSettings(config: StoredServerConfig): OidcSettings | undefined {
  const named = serverConfigValue(config, 'oidc.issuer');
  const { issuer, limits } = named === '' ? candidSettings(config) : { issuer: named, limits: { domains: [] } };
  const clientId = serverConfigValue(config, 'oidc.client.id');
  if (issuer === '' || clientId === '') return undefined;
  const audience = serverConfigValue(config, 'oidc.audience');
  const projects = Object.entries(config)
    .filter(([key]) => key.startsWith(projectsPrefix))
    .map(([key, list]) => [key.slice(projectsPrefix.length), wordsOf(list)] as const);
  return {
    issuer,
    clientId,
    audience: audience === '' ? clientId : audience,
    requestedAudience: audience,
    groupsClaim: serverConfigValue(config, 'oidc.groups.claim'),
    trustedGroups: new Set(wordsOf(serverConfigValue(config, 'oidc.groups.trusted'))),
    projects: new Map(projects),
    ...limits,
  };
}

/** The config with other projects for each group; a group that has none left loses its key. The same object if nothing changes. */
export function withGroupProjects(
  config: StoredServerConfig,
  change: (projects: readonly string[]) => readonly string[],
): StoredServerConfig {
  const changed = Object.entries(config).flatMap(([key, list]) => {
    if (!key.startsWith(projectsPrefix)) return [];
    const before = wordsOf(list);
    const after = change(before);
    return before.join() === after.join() ? [] : [[key, [...new Set(after)].join(',')] as const];
  });
  if (changed.length === 0) return config;
  const emptied = new Set(changed.filter(([, list]) => list === '').map(([key]) => key));
  return Object.fromEntries(
    Object.entries({ ...config, ...Object.fromEntries(changed) }).filter(([key]) => !emptied.has(key)),
  );
}

/** Candid's keys configure the issuer that replaced it. */
function candidSettings(config: StoredServerConfig): {
  readonly issuer: string;
  readonly limits: Pick<OidcSettings, 'domains' | 'longestLifeS' | 'signingKey'>;
} {
  const url = serverConfigValue(config, 'candid.api.url');
  if (url === '') return { issuer: '', limits: { domains: [] } };
  const signingKey = serverConfigValue(config, 'candid.api.key');
  // Without TLS anyone on the path could forge keys, unless the key is known already.
  const isGood = signingKey !== '' || serverConfigKeys['oidc.issuer'].check(url) === undefined;
  return {
    issuer: isGood ? url : '',
    limits: {
      domains: wordsOf(serverConfigValue(config, 'candid.domains')),
      longestLifeS: Number(serverConfigValue(config, 'candid.expiry')),
      ...(signingKey === '' ? {} : { signingKey }),
    },
  };
}

/** Methods by which clients may authenticate, as listed in `auth_methods`. */
export function authMethods(config: StoredServerConfig): string[] {
  return [
    'tls',
    ...(serverConfigValue(config, 'candid.api.url') === '' ? [] : ['candid']),
    ...(oidcSettings(config) === undefined ? [] : ['oidc']),
  ];
}

/** The claims that decide the user's grant: what another member of a cluster needs to know, and no more. */
export function decidingClaims(
  { domains, groupsClaim, trustedGroups, projects }: OidcSettings,
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const named = ['sub', ...(domains.length === 0 ? [] : ['preferred_username', 'email', 'email_verified'])];
  const groups = groupsOf(groupsClaim, claims).filter((group) => trustedGroups.has(group) || projects.has(group));
  const kept = named.filter((name) => claims[name] !== undefined).map((name) => [name, claims[name]] as const);
  return { ...Object.fromEntries(kept), [groupsClaim]: groups };
}

function groupsOf(groupsClaim: string, claims: Readonly<Record<string, unknown>>): readonly string[] {
  const claim = Object.hasOwn(claims, groupsClaim) ? claims[groupsClaim] : undefined;
  return (Array.isArray(claim) ? claim : [claim]).filter((group) => typeof group === 'string');
}

/** The claim is a text or a list of texts; the group with the most rights decides. */
export function grantOf(settings: OidcSettings, claims: Readonly<Record<string, unknown>>): Grant {
  if (!isOfDomain(settings.domains, claims)) return { class: 'untrusted' };
  const groups = groupsOf(settings.groupsClaim, claims);
  if (groups.some((group) => settings.trustedGroups.has(group))) return { class: 'trusted' };
  const known = groups.filter((group) => settings.projects.has(group));
  if (known.length === 0) return { class: 'untrusted' };
  const projects = known.flatMap((group) => settings.projects.get(group) ?? []);
  return { class: 'restricted', projects: [...new Set(projects)].toSorted() };
}

/** An address that the issuer did not verify proves nothing. */
function isOfDomain(domains: readonly string[], claims: Readonly<Record<string, unknown>>): boolean {
  if (domains.length === 0) return true;
  const names = [claims['preferred_username'], ...(claims['email_verified'] === true ? [claims['email']] : [])];
  return names.some((name) => typeof name === 'string' && domains.includes(/^[^@]+@([^@]+)$/.exec(name)?.[1] ?? ''));
}

/** A name for logs and events: nothing is decided by it. */
export function userName(claims: Readonly<Record<string, unknown>>): string {
  const names = ['email', 'preferred_username', 'sub'].map((claim) => claims[claim]);
  const name =
    names.find((value): value is string => typeof value === 'string' && value !== '') ?? 'a user without a name';
  return name.replaceAll(/[^\x21-\x7e\u00a1-\u{10ffff}]/gu, '?').slice(0, 200);
}
