// Declares the verbs around access to servers: the group `gantry trust`, login and logout.
import { text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag } from '../../flags/host-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { type Argument, type OptionsOf, verb } from '../../flags/verb.ts';

const certificates: Argument = ['<certificate...>', 'names, fingerprints or beginnings of fingerprints'];

export const trustAdd = verb('trust add', 'make a one-time token with which a new client adds its certificate', {
  args: [['<name>', 'name that its certificate gets']],
  flags: {
    ...hostFlags,
    restricted: toggle('--restricted', 'the client may use only the projects of --projects'),
    projects: text('--projects <names>', 'projects of a restricted client, comma separated'),
  },
  examples: ['gantry trust add laptop', 'gantry trust add ci --restricted --projects web,db'],
});

export const trustJoin = verb(
  'trust join',
  'add the certificate of this client to a server, by a token of gantry trust add',
  {
    args: [['<token>', 'the token, or - for stdin']],
    flags: {
      clientCert: text('--client-cert <file>', 'client certificate, PEM; made when it and its key are missing'),
      clientKey: text('--client-key <file>', 'key of the client certificate, PEM'),
    },
    examples: ['gantry trust join TOKEN --client-cert laptop.crt --client-key laptop.key'],
  },
);

export const trustList = verb('trust list', 'list the trusted certificates', {
  alias: 'ls',
  flags: { ...hostFlags, ...hostSelectorFlag, ...outputFlag('table (default), yaml, json, name') },
});

export const trustShow = verb('trust show', 'print trusted certificates', {
  args: [certificates],
  flags: { ...hostFlags, ...outputFlag('yaml (default), json') },
});

export const trustRemove = verb('trust remove', 'stop trusting certificates; their connections are cut at once', {
  alias: 'rm',
  args: [certificates],
  flags: hostFlags,
});

const server: Argument = ['<host>', 'https://name:8443, or a context', 'context'];

export const login = verb('login', 'log in at the OpenID Connect issuer of a server; later commands use the login', {
  args: [server],
  flags: { serverCert: text('--server-cert <file|fingerprint>', 'accept only this server certificate, later too') },
});
export type LoginOptions = OptionsOf<typeof login>;

export const logout = verb('logout', 'forget the login at a server', { args: [server], flags: {} });

const contextName: Argument = ['<name>', 'name of the context', 'context'];

export const contextAdd = verb('context add', 'name a server, with the certificate and the project to use there', {
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
});

export const contextUse = verb(
  'context use',
  'make a context the default of all commands; local: the daemon of this machine',
  { args: [contextName], flags: {}, examples: ['gantry context use prod', 'gantry context use local'] },
);

export const contextList = verb('context list', 'list the contexts; * marks the one in use', {
  alias: 'ls',
  flags: {},
});

export const contextRemove = verb('context remove', 'forget a context', {
  alias: 'rm',
  args: [contextName],
  flags: {},
});
