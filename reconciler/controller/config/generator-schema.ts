// The members of one entry of `generators` in gantry.yaml: what sets are made for, and how each of them looks.
import { Type, type Static } from 'typebox';
import { caFile, duration, gitHosts, name, object, oneOf, optional, prune, text, texts } from '../contract/words.ts';

export const DirectoriesSchema = object(
  {
    source: text('Name of the source whose directories count.'),
    include: texts('Directories, such as apps/*; a star stands for any text without a slash.'),
    exclude: optional(texts('Not these.')),
  },
  'A set for each of these directories: $path, $name.',
);

export const PullRequestsSchema = object(
  {
    provider: oneOf(gitHosts),
    repository: text('OWNER/NAME; GitLab also takes the number of a project.'),
    source: text(
      'Name of the git source of that repository: each set reads the branch of its request with these settings.',
    ),
    api: optional(
      text('URL of the API. Default: https://api.github.com, https://gitlab.com/api/v4; needed for Gitea.'),
    ),
    tokenFile: optional(text('File with a token that may read requests.')),
    caFile: caFile(),
    labels: optional(texts('Only requests with all of these labels.')),
    interval: optional(duration('Time between two looks; default 1m.')),
  },
  'A set for each open pull or merge request from a branch of the repository: $number, $slug, $commit.',
);

/** Exactly one of list, hosts, directories and pullRequests. */
export const GeneratorSchema = object({
  name: name('Name of the generator.'),
  list: optional(
    Type.Array(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]))),
    'A set for each entry, whose members are the variables.',
  ),
  hosts: optional(
    Type.Union([Type.String(), Type.Array(Type.String())]),
    'A set for each of these hosts (names, web*, @group, role=web): $host, $label_KEY.',
  ),
  directories: optional(DirectoriesSchema),
  pullRequests: optional(PullRequestsSchema),
  max: optional(Type.Integer({ minimum: 1, maximum: 5000 }), 'Most sets; beyond it none is added. Default 50.'),
  prune: prune(
    'Most sets that go at once: a number or a share; default half, at least three. Beyond it none goes.',
    'What a set that is gone owns is deleted from its hosts. Without it the objects stay.',
  ),
  set: Type.Record(Type.String(), Type.Unknown(), {
    description: 'An entry of sets, with $NAME or ${NAME:-default} of the variables in its texts.',
  }),
});

export const generatorKinds = ['list', 'hosts', 'directories', 'pullRequests'] as const;
export type GeneratorConfig = Static<typeof GeneratorSchema>;
export type PullRequestsConfig = Static<typeof PullRequestsSchema>;
export type DirectoriesConfig = Static<typeof DirectoriesSchema>;

/** The variables of one set. */
export type Entry = Readonly<Record<string, string>>;

export const defaultMaxSets = 50;
