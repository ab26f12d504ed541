// The members of one entry of `generators` in gantry.yaml: what sets are made for, and how each of them looks.
import { Type, type Static } from 'typebox';

const closed = { additionalProperties: false } as const;
const texts = (description: string) => Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description });
const count = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,3}%$' })], { description });

export const DirectoriesSchema = Type.Object(
  {
    source: Type.String({ minLength: 1, description: 'Name of the source whose directories count.' }),
    include: texts('Directories, such as apps/*; a star stands for any text without a slash.'),
    exclude: Type.Optional(texts('Not these.')),
  },
  { ...closed, description: 'A set for each of these directories: $path, $name.' },
);

export const PullRequestsSchema = Type.Object(
  {
    provider: Type.Union([Type.Literal('github'), Type.Literal('gitlab'), Type.Literal('gitea')]),
    repository: Type.String({ minLength: 1, description: 'OWNER/NAME; GitLab also takes the number of a project.' }),
    source: Type.String({
      minLength: 1,
      description:
        'Name of the git source of that repository: each set reads the branch of its request with these settings.',
    }),
    api: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'URL of the API. Default: https://api.github.com, https://gitlab.com/api/v4; needed for Gitea.',
      }),
    ),
    tokenFile: Type.Optional(Type.String({ minLength: 1, description: 'File with a token that may read requests.' })),
    caFile: Type.Optional(Type.String({ minLength: 1, description: 'Certificates of authorities, PEM.' })),
    labels: Type.Optional(texts('Only requests with all of these labels.')),
    interval: Type.Optional(
      Type.Union([Type.String(), Type.Number()], { description: 'Time between two looks; default 1m.' }),
    ),
  },
  {
    ...closed,
    description: 'A set for each open pull or merge request from a branch of the repository: $number, $slug, $commit.',
  },
);

/** Exactly one of list, hosts, directories and pullRequests. */
export const GeneratorSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9](?:[-a-z0-9_]{0,38}[a-z0-9])?$',
      description: 'Name of the generator. (letters, digits, - and _)',
    }),
    list: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])), {
        description: 'A set for each entry, whose members are the variables.',
      }),
    ),
    hosts: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description: 'A set for each of these hosts (names, web*, @group, role=web): $host, $label_KEY.',
      }),
    ),
    directories: Type.Optional(DirectoriesSchema),
    pullRequests: Type.Optional(PullRequestsSchema),
    max: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 5000, description: 'Most sets; beyond it none is added. Default 50.' }),
    ),
    prune: Type.Optional(
      Type.Object(
        {
          max: Type.Optional(
            count('Most sets that go at once: a number or a share; default half, at least three. Beyond it none goes.'),
          ),
          data: Type.Optional(Type.Boolean({ description: 'Also objects that hold data.' })),
        },
        {
          ...closed,
          description: 'What a set that is gone owns is deleted from its hosts. Without it the objects stay.',
        },
      ),
    ),
    set: Type.Record(Type.String(), Type.Unknown(), {
      description: 'An entry of sets, with $NAME or ${NAME:-default} of the variables in its texts.',
    }),
  },
  closed,
);

export const generatorKinds = ['list', 'hosts', 'directories', 'pullRequests'] as const;
export type GeneratorConfig = Static<typeof GeneratorSchema>;
export type PullRequestsConfig = Static<typeof PullRequestsSchema>;
export type DirectoriesConfig = Static<typeof DirectoriesSchema>;

/** The variables of one set. */
export type Entry = Readonly<Record<string, string>>;

export const defaultMaxSets = 50;
