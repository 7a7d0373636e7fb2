// Where a part of the page fails, the rest of it stays, and says so.
import { Component, type ReactNode } from 'react';

interface CatchProps {
  readonly fallback: ReactNode;
  readonly children: ReactNode;
}

export class Catch extends Component<CatchProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}
