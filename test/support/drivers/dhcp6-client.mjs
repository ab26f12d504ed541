// A minimal DHCPv6 client, run inside a network namespace: asks once with rapid commit and prints the address it got.
// usage: node dhcp6-client.mjs INTERFACE HWADDR
import { createSocket } from 'node:dgram';

const [, , device, hwaddr] = process.argv;

const option = (code, data) => {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(code, 0);
  head.writeUInt16BE(data.length, 2);
  return Buffer.concat([head, data]);
};
const duid = Buffer.from(`00030001${hwaddr.replaceAll(':', '')}`, 'hex');
const association = Buffer.alloc(12);
association.writeUInt32BE(7);
const solicit = Buffer.concat([
  Buffer.from([1, 0, 0, 42]),
  option(1, duid),
  option(8, Buffer.alloc(2)),
  option(14, Buffer.alloc(0)),
  option(3, association),
]);

function addressIn(message) {
  const at = message.indexOf(Buffer.from([0, 5, 0, 24]));
  if (message[0] !== 7 || at < 0) return undefined;
  const groups = Array.from({ length: 8 }, (_, i) => message.readUInt16BE(at + 4 + 2 * i).toString(16));
  return groups.join(':');
}

const socket = createSocket('udp6');
const send = () => socket.send(solicit, 547, `ff02::1:2%${device}`, () => {});
socket.on('error', () => {});
socket.on('message', (message) => {
  const address = addressIn(message);
  if (address === undefined) return;
  console.log(address);
  process.exit(0);
});
socket.bind({ port: 546, address: '::' }, () => {
  send();
  setInterval(send, 300);
  setTimeout(() => process.exit(1), 6000);
});
