// Reads of many objects at once: the list saves requests, but never decides alone that an object is gone.
import { expect, test } from 'vitest';
import { ObjectReader } from '../../provider/connection/reader.ts';
import type { Client } from '../../server/client/client.ts';
import { containers } from '../../server/client/facts/containers.ts';
import { ClientError } from '../../server/client/client-error.ts';

const names = ['a', 'b', 'c', 'd', 'hidden', 'gone', 'away'];
const whole = (name: string) => ({ name, architecture: 'x86_64', status: 'Stopped' });

function reader(): { readonly reader: ObjectReader; readonly asked: string[] } {
  const asked: string[] = [];
  const client = {
    http: {
      send: () => {
        asked.push('list');
        // LXD lists the containers of an offline member like this.
        const away = { name: 'away', architecture: '', status: 'Error', status_code: 112, config: null, devices: null };
        return Promise.resolve({ metadata: [...['a', 'b', 'c', 'd'].map(whole), away] });
      },
    },
    get: (_kind: string, name: string) => {
      asked.push(name);
      if (name === 'hidden') return Promise.reject(new ClientError('forbidden', 'x', { status: 403 }));
      if (name === 'away') return Promise.reject(new ClientError('unavailable', 'x', { status: 503 }));
      return Promise.reject(new ClientError('notFound', 'x', { status: 404 }));
    },
  };
  return { reader: new ObjectReader(client as unknown as Client), asked };
}

test('An object that a list leaves out is gone only when the request for it says so', async () => {
  const { reader: objects, asked } = reader();
  const signal = new AbortController().signal;
  const read = (name: string) =>
    objects.read('container', name, signal).then(
      (seen) => seen?.object.name,
      (error: unknown) => (error as ClientError).status,
    );
  const expected = ['a', 'b', 'c', 'd', 403, undefined, 503];
  expect(await Promise.all(names.map(read))).toEqual(expected);
  // The list is there already.
  expect(await Promise.all(names.map(read))).toEqual(expected);
  expect(asked.filter((each) => each === 'list')).toEqual(['list']);
  expect(new Set(asked)).toEqual(new Set(['list', 'hidden', 'gone', 'away']));
});

test('A list of containers by profile or config fails while the server cannot say which ones fit', async () => {
  const web = { ...whole('web'), profiles: ['default'], expanded_config: {}, expanded_devices: {}, devices: {} };
  const away = { name: 'away', architecture: '', status: 'Error', status_code: 112, location: 'm2', profiles: null };
  const ask = { client: { http: { send: async () => ({ metadata: [web, away] }) } } };
  const filter = { name_prefix: null, status: null, profile: null, config: null };
  const found = (more: object) =>
    containers(ask as never, { ...filter, ...more }).then((all) => Object.keys(all.containers));
  await expect(found({ profile: 'default' })).rejects.toThrow('the server lists away without its profiles and config');
  await expect(found({ config: { 'user.a': '1' } })).rejects.toMatchObject({ code: 'unavailable' });
  expect(await found({ name_prefix: 'w', profile: 'default' })).toEqual(['web']);
  expect(await found({ status: 'Error' })).toEqual(['away']);
});
