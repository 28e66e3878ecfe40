class Agent < Formula
  desc "Host AI agents that survive anything"
  version "{{.}}"
  license "MIT"

  on_macos do
    on_intel do
      url "{{archive "darwin" "amd64"}}"
      sha256 "{{sum "darwin" "amd64"}}"
    end
    on_arm do
      url "{{archive "darwin" "arm64"}}"
      sha256 "{{sum "darwin" "arm64"}}"
    end
  end

  on_linux do
    on_intel do
      url "{{archive "linux" "amd64"}}"
      sha256 "{{sum "linux" "amd64"}}"
    end
    on_arm do
      url "{{archive "linux" "arm64"}}"
      sha256 "{{sum "linux" "arm64"}}"
    end
  end

  def install
    bin.install "agent"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/agent.bash" => "agent"
    zsh_completion.install "completions/_agent"
    fish_completion.install "completions/agent.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/agent --version")
  end
end
