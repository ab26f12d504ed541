// Recognizes YAML files that lie in a folder of manifests and are none: files of docker compose, as after `gantry import compose`, and
// variables for --var-file. Pure.

const composeNames = /^(docker-)?compose(\.[\w-]+)?\.ya?ml$/;
const variableNames = /\.vars\.ya?ml$/;

/** Named as compose names them, and no manifest. */
export const isComposeFile = (name: string, text: string): boolean =>
  composeNames.test(name) && /^services:/m.test(text) && !hasKind(text);

export const isVariableFile = (name: string, text: string): boolean => variableNames.test(name) && !hasKind(text);

const hasKind = (text: string): boolean => /^kind:/m.test(text);
