// The rules of `member_overrides` of networks and pools, and which objects a cluster has created on some of its members only. Pure.
import { isMemberKey, type MemberKind } from '../../../server/api/cluster/cluster-member-keys.ts';
import type { Problem } from '../../../server/api/problem.ts';
import type { Json } from '../documents/document.ts';
import type { Observed } from '../documents/observed.ts';
import { mapOf } from '../documents/json-values.ts';

/** True of an object that exists on some members only: the plan creates it on the others. */
export const isHalfMade = ({ members }: Observed, status: string | undefined): boolean =>
  members !== undefined && status === 'Pending';

/** `value`: by member, with or without `config:` between. */
export const overrideProblems = (kind: MemberKind, value: Json | undefined): readonly Problem[] =>
  Object.entries(mapOf(value)).flatMap(([member, part]) =>
    Object.keys(mapOf(mapOf(part)['config'])).flatMap((key) =>
      isMemberKey(kind, key)
        ? []
        : [
            {
              path: `member_overrides.${member}.config.${key}`,
              message: 'is the same for all members: put it into config',
            },
          ],
    ),
  );
