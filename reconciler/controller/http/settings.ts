// The configuration of a controller's listener.
import type { Right, Role } from '../contract/index.ts';

export interface HttpSettings {
  /** ADDRESS:PORT. Port 0: any free one. */
  readonly listen: string;
  readonly tls?: TlsFiles;
  readonly auth?: AuthSettings;
  /** Callers without a login get the role view. */
  readonly anonymous?: 'view';
  /** Users with the role operate may open consoles of containers. */
  readonly console: boolean;
  /** Set by `gantry ui`: its callers reach the host itself, so no value is withheld from them. */
  readonly isOwnHost?: true;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[];
  /** The public URL behind a proxy, if it differs from the listening address. */
  readonly url?: string;
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface AuthSettings {
  readonly tokens?: readonly TokenSettings[];
  readonly oidc?: OidcSettings;
  readonly grants?: readonly GrantSettings[];
}

/** Rights of users and groups for sets and hosts; absent sets or hosts: all. */
export interface GrantSettings {
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  readonly sets?: readonly string[];
  readonly hosts?: readonly string[];
  readonly rights: readonly Right[];
}

export interface TokenSettings {
  /** The user that the history names. */
  readonly name: string;
  readonly mails?: readonly string[];
  readonly role: Role;
  /** Path of the file that holds the token. */
  readonly file: string;
}

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecretFile?: string;
  readonly roles: {
    /** The claim that decides the role, by its value or one of its values. */
    readonly claim: string;
    readonly operate?: readonly string[];
    readonly view?: readonly string[];
  };
}

/** Host and port of `127.0.0.1:8440`, `[::1]:8440`, `localhost:8440`. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535)
    throw new Error(`The address ${JSON.stringify(address)} is not ADDRESS:PORT such as 127.0.0.1:8440`);
  return { host, port };
}
