// Reads of many objects at once: the list saves requests, but never decides alone that an object is gone.
import { expect, test } from 'vitest';
import { ObjectReader } from '../../provider/connection/reader.ts';
import type { Client } from '../../server/client/client.ts';
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
        const away = { name: 'away', architecture: '', status: 'Error', config: null, devices: null };
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
