// Reads the server's config of an OpenID Connect issuer, and the rights of its users from the groups of their tokens. Pure.
import { serverConfigKeys, serverConfigValue, type StoredServerConfig } from '../../api/server/server-config.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** A token must be meant for it; the client id unless it is set. */
  readonly audience: string;
  /** oidc.audience as it is set; empty when it is not. */
  readonly requestedAudience: string;
  readonly groupsClaim: string;
  readonly trustedGroups: ReadonlySet<string>;
  /** Group -> projects. */
  readonly projects: ReadonlyMap<string, readonly string[]>;
  /** Users are NAME@DOMAIN of one of these. Empty: of any. */
  readonly domains: readonly string[];
  /** Seconds after its issue in which a token is good, whatever it says itself. */
  readonly longestLifeS?: number;
  /** Ed25519, base64: signs every token, and the issuer is asked for no keys. */
  readonly signingKey?: string;
}

/** What a user may do: everything, something in these projects, or nothing. */
export type Grant =
  | { readonly class: 'trusted' }
  | { readonly class: 'restricted'; readonly projects: readonly string[] }
  | { readonly class: 'untrusted' };

/** `subject`: who it is, as the issuer says; the name is only shown. */
export type OidcUser = Grant & { readonly name: string; readonly subject: string };

const projectsPrefix = 'oidc.groups.projects.';

const wordsOf = (list: string): readonly string[] =>
  list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** Undefined while no issuer or no client id is set: tokens mean nothing then. */
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

/** The keys of Candid hold for the issuer that took its place. */
function candidSettings(config: StoredServerConfig): {
  readonly issuer: string;
  readonly limits: Pick<OidcSettings, 'domains' | 'longestLifeS' | 'signingKey'>;
} {
  const url = serverConfigValue(config, 'candid.api.url');
  if (url === '') return { issuer: '', limits: { domains: [] } };
  const signingKey = serverConfigValue(config, 'candid.api.key');
  // Without TLS anyone on the way could give keys, unless the key is known already.
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

/** Methods by which clients of the server may prove who they are, as `auth_methods` lists them. */
export function authMethods(config: StoredServerConfig): string[] {
  return [
    'tls',
    ...(serverConfigValue(config, 'candid.api.url') === '' ? [] : ['candid']),
    ...(oidcSettings(config) === undefined ? [] : ['oidc']),
  ];
}

/** The claim is one text or a list of texts; the group with the most rights decides. */
export function grantOf(settings: OidcSettings, claims: Readonly<Record<string, unknown>>): Grant {
  if (!isOfDomain(settings.domains, claims)) return { class: 'untrusted' };
  const claim = Object.hasOwn(claims, settings.groupsClaim) ? claims[settings.groupsClaim] : undefined;
  const groups = (Array.isArray(claim) ? claim : [claim]).filter((group) => typeof group === 'string');
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

/** A name for logs and events: no claim of it decides anything. */
export function userName(claims: Readonly<Record<string, unknown>>): string {
  const names = ['email', 'preferred_username', 'sub'].map((claim) => claims[claim]);
  const name =
    names.find((value): value is string => typeof value === 'string' && value !== '') ?? 'a user without a name';
  return name.replaceAll(/[^\x21-\x7e\u00a1-\u{10ffff}]/gu, '?').slice(0, 200);
}
