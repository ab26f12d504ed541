// Declares the verbs around access to servers: the group `gantry trust`, login and logout.
import { text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag } from '../../flags/host-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import type { Argument, OptionsOf, Verb } from '../../flags/verb.ts';

const certificates: Argument = ['<certificate...>', 'names, fingerprints or beginnings of fingerprints'];

export const trustAdd = {
  name: 'trust add',
  summary: 'make a one-time token with which a new client adds its certificate',
  args: [['<name>', 'name that its certificate gets']],
  flags: {
    ...hostFlags,
    restricted: toggle('--restricted', 'the client may use only the projects of --projects'),
    projects: text('--projects <names>', 'projects of a restricted client, comma separated'),
  },
  examples: ['gantry trust add laptop', 'gantry trust add ci --restricted --projects web,db'],
} satisfies Verb;
export type TrustAddOptions = OptionsOf<typeof trustAdd>;

export const trustJoin = {
  name: 'trust join',
  summary: 'add the certificate of this client to a server, by a token of gantry trust add',
  args: [['<token>', 'the token, or - for stdin']],
  flags: {
    clientCert: text('--client-cert <file>', 'client certificate, PEM; made when it and its key are missing'),
    clientKey: text('--client-key <file>', 'key of the client certificate, PEM'),
  },
  examples: ['gantry trust join TOKEN --client-cert laptop.crt --client-key laptop.key'],
} satisfies Verb;
export type TrustJoinOptions = OptionsOf<typeof trustJoin>;

export const trustList = {
  name: 'trust list',
  alias: 'ls',
  summary: 'list the trusted certificates',
  flags: { ...hostFlags, ...hostSelectorFlag, ...outputFlag('table (default), yaml, json, name') },
} satisfies Verb;
export type TrustListOptions = OptionsOf<typeof trustList>;

export const trustShow = {
  name: 'trust show',
  summary: 'print trusted certificates',
  args: [certificates],
  flags: { ...hostFlags, ...outputFlag('yaml (default), json') },
} satisfies Verb;
export type TrustShowOptions = OptionsOf<typeof trustShow>;

export const trustRemove = {
  name: 'trust remove',
  alias: 'rm',
  summary: 'stop trusting certificates; their connections are cut at once',
  args: [certificates],
  flags: hostFlags,
} satisfies Verb;
export type TrustRemoveOptions = OptionsOf<typeof trustRemove>;

const server: Argument = ['<host>', 'https://name:8443'];

export const login = {
  name: 'login',
  summary: 'log in at the OpenID Connect issuer of a server; later commands use the login',
  args: [server],
  flags: { serverCert: text('--server-cert <file|fingerprint>', 'accept only this server certificate, later too') },
} satisfies Verb;
export type LoginOptions = OptionsOf<typeof login>;

export const logout = {
  name: 'logout',
  summary: 'forget the login at a server',
  args: [server],
  flags: {},
} satisfies Verb;

const contextName: Argument = ['<name>', 'name of the context', 'context'];

export const contextAdd = {
  name: 'context add',
  summary: 'name a server, with the certificate and the project to use there',
  args: [
    ['<name>', 'name of the context'],
    ['<host>', 'unix:///path or https://name:8443'],
  ],
  flags: {
    clientCert: text('--client-cert <file>', 'client certificate, PEM'),
    clientKey: text('--client-key <file>', 'key of the client certificate, PEM'),
    serverCert: text('--server-cert <file|fingerprint>', 'accept only this server certificate'),
    project: text('--project <name>', 'project on the server'),
  },
  examples: ['gantry context add prod https://web1:8443 --client-cert laptop.crt --client-key laptop.key'],
} satisfies Verb;
export type ContextAddOptions = OptionsOf<typeof contextAdd>;

export const contextUse = {
  name: 'context use',
  summary: 'make a context the default of all commands; local: the daemon of this machine',
  args: [contextName],
  flags: {},
  examples: ['gantry context use prod', 'gantry context use local'],
} satisfies Verb;

export const contextList = {
  name: 'context list',
  alias: 'ls',
  summary: 'list the contexts; * marks the one in use',
  flags: {},
} satisfies Verb;

export const contextRemove = {
  name: 'context remove',
  alias: 'rm',
  summary: 'forget a context',
  args: [contextName],
  flags: {},
} satisfies Verb;
