// Request bodies, sessions and refusals.
import { Type, type Static } from 'typebox';
import { says, Text, Time, when, type Shape } from './shape.ts';
import { object } from './words.ts';

export const roles = ['view', 'operate'] as const;
export const Role = Type.Enum(roles, { description: 'operate includes view.' });
export type Role = Static<typeof Role>;

/** What a grant may allow. */
export const rights = ['view', 'sync', 'suspend', 'rollback', 'console', 'approve'] as const;
export const Right = Type.Enum(rights, {
  description:
    'view: if any grant has it, viewers see only the sets of their own grants. sync: also plan a branch. suspend: also resume. approve: plans that wait for it, and pruning beyond the limit. The role operate has all.',
});
export type Right = Static<typeof Right>;

const asked = (description: string, maxLength = 1000) => Type.String({ minLength: 1, maxLength, description });
const Reason = asked('For the history.');
const Hosts = Type.Optional(
  Type.Array(asked('A host.', 253), { minItems: 1, maxItems: 10_000, description: 'Absent: all hosts of the set.' }),
);

export const SyncRequest = object({
  hosts: Hosts,
  reason: Type.Optional(Reason),
  takeOver: Type.Optional(
    Type.Boolean({ description: 'Takes the set from another controller, which is gone or is not to have it.' }),
  ),
});
export type SyncRequest = Shape<typeof SyncRequest>;
export const SuspendRequest = object({
  host: Type.Optional(asked('Absent: on all hosts.', 253)),
  address: Type.Optional(asked('One object.')),
  path: Type.Optional(asked('One field of it; needs address.')),
  reason: Reason,
  until: Type.Optional(when('Absent: until it is resumed.')),
});
export type SuspendRequest = Shape<typeof SuspendRequest>;
export const ResumeRequest = object({ id: Type.Optional(asked('One suspension; absent: all of the set.')) });
export type ResumeRequest = Shape<typeof ResumeRequest>;
export const Resumed = Type.Object({
  resumed: Type.Array(Text, { description: 'Ids of the suspensions that ended.' }),
});
export type Resumed = Shape<typeof Resumed>;
export const RollbackRequest = object({ revision: asked('As in the history.'), reason: Reason, hosts: Hosts });
export type RollbackRequest = Shape<typeof RollbackRequest>;
export const PruneRequest = object({
  revision: asked('The revision of the pruneGate that was shown; the start of it is enough.'),
  reason: Reason,
});
export type PruneRequest = Shape<typeof PruneRequest>;
export const ApproveRequest = object({
  revision: asked('The revision of the approvalGate that was shown; the start of it is enough.'),
  plan: asked('Its plan: other steps need another approval.'),
  reason: Reason,
  hosts: Hosts,
});
export type ApproveRequest = Shape<typeof ApproveRequest>;
export const PreviewRequest = object({ ref: asked('A branch, a tag, a revision.', 255), hosts: Hosts });
export type PreviewRequest = Shape<typeof PreviewRequest>;

export const SessionRequest = object({ token: Type.String({ minLength: 1, maxLength: 4096 }) });
export const Session = Type.Object({
  name: Type.Optional(says('Absent: no login.')),
  role: Type.Optional(Role),
  csrfToken: Type.Optional(says('For the header X-CSRF-Token of each change that a cookie authorizes.')),
  expiresAt: Type.Optional(Time),
  login: Type.Object({ token: Type.Boolean(), oidc: Type.Boolean() }, { description: 'Ways to log in.' }),
  may: Type.Optional(
    Type.Array(Type.Object({ set: Text, rights: Type.Array(Right) }), {
      description: 'What grants allow on all hosts of a set; absent with the role operate.',
    }),
  ),
  console: Type.Boolean({ description: 'Consoles may be opened in this session.' }),
});
export type Session = Shape<typeof Session>;
export type SessionRequest = Shape<typeof SessionRequest>;

const auditOutcomes = ['asked', 'done', 'refused', 'denied'] as const;
export const AuditEntry = Type.Object({
  number: Type.Integer({ description: 'Its place in the log.' }),
  id: says('The entries of one request have the same.'),
  at: Time,
  who: Text,
  from: says('Address of the client.'),
  via: says('token, session or nothing.'),
  what: says('The endpoint.'),
  set: Type.Optional(Text),
  hosts: Type.Optional(Type.Array(Text)),
  why: Type.Optional(says('The reason that was given.')),
  request: Type.Optional(Type.Record(Text, Type.Unknown())),
  outcome: Type.Enum(auditOutcomes, {
    description: 'asked: before it is done; denied: without the right; refused: the controller could not.',
  }),
  message: Type.Optional(Text),
});
export type AuditEntry = Shape<typeof AuditEntry>;

export const AuditCheck = Type.Object({
  entries: Type.Integer(),
  first: Type.Integer({ description: 'The number of the first entry; 1, unless older files are kept elsewhere.' }),
  last: Type.Integer({ description: 'The number of the last entry.' }),
  hash: says('The hash of the last entry: a copy of it shows later whether entries were removed from the end.'),
  cutOff: Type.Integer({ description: 'Lines that the end of a process cut off.' }),
  unchained: Type.Integer({ description: 'Entries of versions that wrote no hashes.' }),
  problems: Type.Array(Text, { description: 'Entries that were removed or changed; empty: none.' }),
});
export type AuditCheck = Shape<typeof AuditCheck>;

export const Failure = Type.Object({
  error: Type.Object({
    code: says(
      'bad-request, unauthorized, forbidden, not-found, conflict, too-large, too-many-requests, unavailable, internal',
    ),
    message: Text,
    problems: Type.Optional(Type.Array(Type.Object({ path: Text, message: Text }))),
  }),
});
export type Failure = Shape<typeof Failure>;
