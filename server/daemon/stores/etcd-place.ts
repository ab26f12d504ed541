// Where a member runs its etcd: the two ports after the member's own, and a name derived from its address. Pure.
import { errors } from '../../api/errors.ts';

/** `address`: HOST:PORT of the member. Throws AppError badRequest if the port is too high for two more. */
export function addressesOf(address: string): { readonly clientAddress: string; readonly peerAddress: string } {
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at), Number(address.slice(at + 1))];
  if (port + 2 > 65_535)
    throw errors.badRequest(`The address ${address} leaves no room for etcd, which takes the two ports after it`);
  return { clientAddress: `${host}:${port + 1}`, peerAddress: `${host}:${port + 2}` };
}

export const clientOf = (address: string): string => addressesOf(address).clientAddress;
export const peerOf = (address: string): string => addressesOf(address).peerAddress;
export const hostOf = (address: string): string => address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
export const nameOf = (address: string): string => `etcd-${address.replaceAll(/[^A-Za-z0-9.]/g, '-')}`;
