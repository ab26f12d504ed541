// Addresses of an etcd: accepted ones, and messages about refused ones.
import { expect, test } from 'vitest';
import { isEtcdAddress, parseEtcdAddress } from '../../../../server/store/etcd/address.ts';

test.each([
  ['etcd://10.0.0.1:2379', ['10.0.0.1:2379'], 'gantry'],
  ['etcd://one', ['one:2379'], 'gantry'],
  ['etcd://one,two:1234/east', ['one:2379', 'two:1234'], 'east'],
  ['etcd://[fd00::1]:2379,[fd00::2]/a.b_c-1/', ['[fd00::1]:2379', '[fd00::2]:2379'], 'a.b_c-1'],
])('%s is taken', (text, endpoints, name) => {
  expect(isEtcdAddress(text)).toBe(true);
  expect(parseEtcdAddress(text)).toEqual({ endpoints, name });
});

test.each([
  ['https://one:2379', 'it does not start with etcd://'],
  ['etcd://', '"" is not HOST:PORT'],
  ['etcd://one,,two', '"" is not HOST:PORT'],
  ['etcd://one:70000', 'there is no port 70000'],
  ['etcd://one:0', 'there is no port 0'],
  ['etcd://one:x', '"one:x" is not HOST:PORT'],
  ['etcd://one/a/b', 'the name must be 1 to 63 letters'],
  ['etcd://one/../x', 'the name must be 1 to 63 letters'],
  ['etcd://one,one:2379', 'a member is named twice'],
  ['etcd://root:secret@one', 'user and password belong into the file of --store-login'],
])('%s is refused: %s', (text, why) => {
  expect(() => parseEtcdAddress(text)).toThrow(why);
});
