// Converts provider blocks and required_providers of the LXD and Incus providers to ours. Pure.
import type { Expression } from '../terraform-json/expression/syntax.ts';
import { objectText, keyText, insideText, type Entry } from './hcl-text.ts';
import type { Block, Item } from './read-body.ts';
import { argumentOf, literalOf, type ImageServer, type Source } from './source.ts';

export const isPeerProvider = ({ name, labels }: Block): boolean =>
  name === 'provider' && /^(lxd|incus)$/.test(labels[0]?.text ?? '');

const remotesOf = (block: Block): readonly Block[] =>
  block.items.filter((item): item is Block => item.type === 'block' && item.name === 'remote');

/** Remotes that only have images. */
const isImageServer = (remote: Block): boolean =>
  literalOf(argumentOf(remote, 'protocol')?.value) === 'simplestreams' ||
  literalOf(argumentOf(remote, 'public')?.value) === true;

export function imageServers(items: readonly Item[]): ReadonlyMap<string, ImageServer> {
  return new Map(
    items
      .filter((item): item is Block => item.type === 'block' && isPeerProvider(item))
      .flatMap((block) =>
        remotesOf(block).flatMap((remote): [string, ImageServer][] => {
          const [name, address, protocol] = ['name', 'address', 'protocol'].map((each) =>
            literalOf(argumentOf(remote, each)?.value),
          );
          if (typeof name !== 'string' || typeof address !== 'string' || !/^https?:/.test(address)) return [];
          return [
            [
              name,
              {
                server: address,
                protocol: typeof protocol === 'string' && protocol === 'simplestreams' ? protocol : 'lxd',
              },
            ],
          ];
        }),
      ),
  );
}

/** The whole block of our provider. */
export function providerText(block: Block, source: Source): string {
  const servers = remotesOf(block).filter((remote) => !isImageServer(remote));
  const chosen = literalOf(argumentOf(block, 'default_remote')?.value);
  const isDefault = (remote: Block): boolean =>
    literalOf(argumentOf(remote, 'default')?.value) === true ||
    (chosen !== undefined && literalOf(argumentOf(remote, 'name')?.value) === chosen);
  const main = servers.find(isDefault);
  const others = servers.filter((remote) => remote !== main);
  for (const item of block.items) noteArgument(item, source);
  if (main === undefined)
    source.note(
      block.start,
      'the provider has no default remote: GANTRY_ADDRESS, or address in its block, says where the server is',
    );
  const alias = argumentOf(block, 'alias')?.value;
  const project = argumentOf(block, 'project')?.value;
  const entries: Entry[] = [
    ...(alias === undefined ? [] : [['alias', source.render(alias)] as const]),
    ...(project === undefined ? [] : [['project', source.render(project)] as const]),
    ...(main === undefined ? [] : connection(main, block, source)),
  ];
  const remotes = others.map((remote): Entry => {
    const name = argumentOf(remote, 'name')?.value;
    return [
      name === undefined ? 'unnamed' : keyText(source.render(name)),
      objectText(connection(remote, block, source), 4, true),
    ];
  });
  const all: Entry[] = [
    ...entries,
    ...(remotes.length === 0 ? [] : [['remotes', objectText(remotes, 2, true)] as const]),
  ];
  return `provider "gantry" ${all.length === 0 ? '{}' : objectText(all, 0, true)}`;
}

const handled = new Set(['remote', 'default_remote', 'config_dir', 'alias', 'project']);
const remarks: Readonly<Record<string, string>> = {
  accept_remote_certificate: 'say which certificate of the server to accept: server_certificate, or a trust_token',
  accept_server_certificate: 'say which certificate of the server to accept: server_certificate, or a trust_token',
  generate_client_certificates: 'make a client certificate: gantry trust join HOST, or openssl',
};

function noteArgument(item: Item, source: Source): void {
  if (handled.has(item.name)) return;
  source.note(item.start, `provider: ${item.name} is left out: ${remarks[item.name] ?? 'there is nothing like it'}`);
}

const used = new Set(['name', 'address', 'port', 'scheme', 'token', 'password', 'default', 'protocol', 'public']);

function connection(remote: Block, block: Block, source: Source): readonly Entry[] {
  const of = (name: string): Expression | undefined => argumentOf(remote, name)?.value;
  for (const item of remote.items)
    if (!used.has(item.name)) source.note(item.start, `remote: ${item.name} is left out: there is nothing like it`);
  const address = addressText(remote, source);
  const isLocal = address.startsWith('"unix:');
  const [token, password] = [of('token'), of('password')];
  return [
    ['address', address],
    ...(isLocal ? [] : certificates(block, source)),
    ...(token === undefined ? [] : [['trust_token', source.render(token)] as const]),
    ...(password === undefined ? [] : [['trust_password', source.render(password)] as const]),
  ];
}

function addressText(remote: Block, source: Source): string {
  const address = argumentOf(remote, 'address')?.value;
  const scheme = literalOf(argumentOf(remote, 'scheme')?.value);
  const port = argumentOf(remote, 'port')?.value;
  const text = address === undefined ? '""' : source.render(address);
  const known = literalOf(address);
  const isUnix =
    scheme === 'unix' ||
    (typeof known === 'string' && (known === '' || /^unix:|^\//.test(known))) ||
    (address === undefined && scheme === undefined);
  if (isUnix) {
    const path = typeof known === 'string' ? known.replace(/^unix:(?:\/\/)?/, '') : '';
    if (path === '')
      source.note(
        remote.start,
        'the address is taken for the socket of gantryd; LXD has its own, such as unix:///var/lib/lxd/unix.socket',
      );
    return `"unix://${path === '' ? '/var/lib/gantry/unix.socket' : path}"`;
  }
  if (typeof known === 'string' && known.startsWith('https:'))
    return /:\d+$/.test(known) ? text : `"${known.replace(/\/$/, '')}:8443"`;
  if (address !== undefined && typeof known !== 'string' && scheme === undefined) return text;
  return `"https://${insideText(text)}:${port === undefined ? '8443' : insideText(source.render(port))}"`;
}

/** Where the command line of LXD or Incus keeps the client certificate. */
function certificates(block: Block, source: Source): readonly Entry[] {
  const folder = argumentOf(block, 'config_dir')?.value;
  const inside =
    folder === undefined
      ? `~/.config/${block.labels[0]?.text === 'incus' ? 'incus' : 'lxc'}`
      : insideText(source.render(folder));
  if (folder === undefined)
    source.note(
      block.start,
      `the client certificate is taken from ${inside}; a snap keeps it in ~/snap/lxd/common/config`,
    );
  return ['client_certificate_file', 'client_key_file'].map((name): Entry => [
    name,
    `pathexpand("${inside}/client.${name === 'client_key_file' ? 'key' : 'crt'}")`,
  ]);
}
