// Config that is set on each member of a cluster separately: a create request goes to every member before the one that creates the
// cluster's object. Pure.

/** `own` keys are sent to members only, never to the cluster. */
const own: Readonly<Record<'storage_pool' | 'network', RegExp>> = {
  storage_pool:
    /^(source|size|zfs\.pool_name|ceph\.osd\.pool_name|cephfs\.path|lvm\.vg_name|lvm\.thinpool_name|volatile\..*)$/,
  network: /^(bridge\.external_interfaces|parent|bgp\..*\.nexthop)$/,
};

export type MemberKind = keyof typeof own;

export const isMemberKind = (kind: string): kind is MemberKind => Object.hasOwn(own, kind);
export const isMemberKey = (kind: MemberKind, key: string): boolean => own[kind].test(key);
