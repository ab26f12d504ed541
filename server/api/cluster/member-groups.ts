// Groups of cluster members on the wire, and a member's config (shapes after the real system).
import { Type, type Static } from 'typebox';
import type { Problem } from '../problem.ts';
import type { ConfigMap } from '../schema/common-schemas.ts';

export const ClusterGroup = Type.Object({
  name: Type.String(),
  description: Type.String(),
  members: Type.Array(Type.String()),
});
export type ClusterGroup = Static<typeof ClusterGroup>;

export const ClusterGroupCreate = Type.Object({
  name: Type.String(),
  description: Type.Optional(Type.String()),
  members: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});
export type ClusterGroupCreate = Static<typeof ClusterGroupCreate>;

export const ClusterGroupPut = Type.Object({
  description: Type.Optional(Type.String()),
  members: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});
export type ClusterGroupPut = Static<typeof ClusterGroupPut>;
export const ClusterGroupPost = Type.Object({ name: Type.String() });

/** The group of members without another one. */
export const defaultGroup = 'default';

const schedulers = ['all', 'manual', 'group'];

export function memberConfigProblems(config: ConfigMap): readonly Problem[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const path = `config.${key}`;
    if (key === 'scheduler.instance')
      return schedulers.includes(value)
        ? []
        : [{ path, message: `must be one of ${schedulers.join(', ')}, is ${JSON.stringify(value)}` }];
    return /^user\.[^\s]+$/.test(key)
      ? []
      : [{ path, message: 'is no key of cluster members: scheduler.instance, user.*' }];
  });
}

export const groupNameRule =
  'must be 1 to 63 letters, digits, dots, hyphens and underscores, and begin with a letter or digit';
export const isGroupName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name);
