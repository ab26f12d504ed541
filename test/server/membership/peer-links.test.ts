// The outcome of a request that another member did not answer: whether that one may have carried it out.
import { createServer, type Server } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { errorText } from '../../../server/lib/shared/reason.ts';
import { PeerLinks } from '../../../server/membership/peer-links.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { makePair } from '../../support/daemons/tls.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const pair = (commonName: string) => makePair(commonName, { usage: 'peer' });

async function linksOf() {
  const own = await pair('cluster');
  const links = new PeerLinks({ own: () => own, certificateOf: () => own.certPem });
  cleanups.push(() => links.close());
  return { links, own };
}

/** A member that drops every connection once it has read the request. */
async function dropping({ certPem, keyPem }: { readonly certPem: string; readonly keyPem: string }) {
  const server: Server = createServer({ cert: certPem, key: keyPem }, (request) => {
    request.resume().once('end', () => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  return { name: 'two', address: `127.0.0.1:${(server.address() as { readonly port: number }).port}` };
}

const codeOf = (links: PeerLinks, member: { readonly name: string; readonly address: string }, method: string) =>
  links.request(member, { method, path: '/1.0/profiles', headers: {}, body: method === 'GET' ? null : '{}' }).then(
    () => 'answered',
    (error: unknown) => (error as { readonly code: string }).code,
  );

test('a change to which no answer came has an unknown outcome, and a read of it is unavailable', async () => {
  const { links, own } = await linksOf();
  const member = await dropping(own);
  expect([await codeOf(links, member, 'POST'), await codeOf(links, member, 'GET')]).toEqual([
    'outcomeUnknown',
    'unavailable',
  ]);
});

test('a change that was never sent, because no server or a wrong one listens, is unavailable', async () => {
  const { links } = await linksOf();
  const stranger = await dropping(await pair('stranger'));
  const nobody = { name: 'two', address: `127.0.0.1:${await freePort()}` };
  expect([await codeOf(links, nobody, 'POST'), await codeOf(links, stranger, 'POST')]).toEqual([
    'unavailable',
    'unavailable',
  ]);
});

test('the reason why a member cannot be reached is named once', async () => {
  const { links } = await linksOf();
  const nobody = { name: 'two', address: `127.0.0.1:${await freePort()}` };
  const request = { method: 'GET', path: '/1.0/profiles', headers: {}, body: null };
  const text = await links.request(nobody, request).then(() => 'answered', errorText);
  expect(text).toBe(`The cluster member two cannot be reached: connect ECONNREFUSED ${nobody.address}`);
});

test('a change to a member whose lease ends while it does not answer has an unknown outcome', async () => {
  const { links, own } = await linksOf();
  const server = createServer({ cert: own.certPem, key: own.keyPem }, () => links.giveUp(member));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  const member = { name: 'two', address: `127.0.0.1:${(server.address() as { readonly port: number }).port}` };
  expect(await codeOf(links, member, 'POST')).toBe('outcomeUnknown');
});
