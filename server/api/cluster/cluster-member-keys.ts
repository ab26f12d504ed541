// Config that each member of a cluster has for itself: told to every member before the cluster makes the whole of it. Pure.

/** `own` goes to members only, never to the cluster. */
const own: Readonly<Record<'storage_pool' | 'network', RegExp>> = {
  storage_pool: /^(source|size|zfs\.pool_name|lvm\.vg_name|lvm\.thinpool_name|volatile\..*)$/,
  network: /^(bridge\.external_interfaces|parent|bgp\..*\.nexthop)$/,
};

export type MemberKind = keyof typeof own;

export const isMemberKind = (kind: string): kind is MemberKind => Object.hasOwn(own, kind);
export const isMemberKey = (kind: MemberKind, key: string): boolean => own[kind].test(key);
