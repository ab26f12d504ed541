// Reads the server's config of an OpenID Connect issuer, and the rights of its users from the groups of their tokens. Pure.
import { serverConfigValue, type StoredServerConfig } from '../../api/server/server-config.ts';

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
  const issuer = serverConfigValue(config, 'oidc.issuer');
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
  const claim = Object.hasOwn(claims, settings.groupsClaim) ? claims[settings.groupsClaim] : undefined;
  const groups = (Array.isArray(claim) ? claim : [claim]).filter((group) => typeof group === 'string');
  if (groups.some((group) => settings.trustedGroups.has(group))) return { class: 'trusted' };
  const known = groups.filter((group) => settings.projects.has(group));
  if (known.length === 0) return { class: 'untrusted' };
  const projects = known.flatMap((group) => settings.projects.get(group) ?? []);
  return { class: 'restricted', projects: [...new Set(projects)].toSorted() };
}

/** A name for logs and events: no claim of it decides anything. */
export function userName(claims: Readonly<Record<string, unknown>>): string {
  const names = ['email', 'preferred_username', 'sub'].map((claim) => claims[claim]);
  const name =
    names.find((value): value is string => typeof value === 'string' && value !== '') ?? 'a user without a name';
  return name.replaceAll(/[^\x21-\x7e\u00a1-\u{10ffff}]/gu, '?').slice(0, 200);
}
