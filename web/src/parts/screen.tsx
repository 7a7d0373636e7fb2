// A screen whose code is loaded apart. Once that is there it is shown at once, without a placeholder in between.
import { type ComponentType, lazy } from 'react';

export interface Screen<Props> {
  readonly Component: ComponentType<Props>;
  load(): Promise<void>;
}

export function screen<Props extends object>(
  get: () => Promise<{ default: ComponentType<Props> }>,
): Screen<Props> {
  let loaded: ComponentType<Props> | undefined;
  const Later = lazy(get) as unknown as ComponentType<Props>;

  function Component(props: Props) {
    const Shown = loaded ?? Later;
    return <Shown {...props} />;
  }

  return {
    Component,
    load: async () => {
      loaded = (await get()).default;
    },
  };
}
