// The YAML parser behind a module of its own, so that it is loaded only when an image is looked at.
import { parse, stringify } from 'yaml';

export const parseYaml = (text: string): unknown => parse(text) as unknown;

export const renderYaml = (value: unknown): string => stringify(value);
