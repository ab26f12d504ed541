// Containers that LXD lists with nothing but their names, since their member does not answer or cannot read them. Pure.
import { statusCodes } from '../status.ts';
import type { Container } from './container.ts';

export const isUnread = ({ status_code: status, architecture }: Pick<Container, 'status_code' | 'architecture'>) =>
  status === statusCodes.error && architecture === '';

/** The lists and maps of such a container are null. */
type Listed = Omit<Container, keyof typeof empty> & { readonly [K in keyof typeof empty]?: Container[K] | null };
const empty = { config: {}, devices: {}, profiles: [], expanded_config: {}, expanded_devices: {} };

export const withoutNulls = (listed: Listed): Container => {
  const present = Object.fromEntries(Object.entries(listed).filter(([, value]) => value !== null));
  return isUnread(listed) ? ({ ...empty, ...present } as unknown as Container) : (listed as Container);
};
