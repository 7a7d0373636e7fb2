// Where a part of the page fails, the rest of it stays, and says so.
import { Component, type ReactNode } from 'react';

interface CatchProps {
  readonly fallback: ReactNode;
  readonly children: ReactNode;
  /** What is shown in it; something else is another try. */
  readonly shown?: unknown;
}

export class Catch extends Component<CatchProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidUpdate({ shown }: CatchProps) {
    if (this.state.failed && shown !== this.props.shown) this.setState({ failed: false });
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}
